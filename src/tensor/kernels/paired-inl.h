// Products whose terms go in pairs, after S. Winograd (strassen_pairs-inl.h), without Strassen's algorithm. A
// line of an operand, a row of a or a column of b, is a lane of a panel and is scaled alone, so that an
// element of y depends on its row and its column only.
//
// Included once a target; everything is inside HWY_NAMESPACE.
#if defined(HOCKET_TENSOR_KERNELS_PAIRED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_PAIRED_INL_H_
#undef HOCKET_TENSOR_KERNELS_PAIRED_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_PAIRED_INL_H_
#endif

#include <algorithm>

#include "tensor/kernels/paired_step.h"
#include "tensor/kernels/simd-inl.h"
#include "tensor/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

constexpr std::int64_t kLines = hn::MaxLanes(kFloats);    // Of a panel.
constexpr int kBlockRows = kLines < 8 ? int{kLines} : 8;  // Of a block of y in registers,
constexpr int kBlockAcross = 2;                           // and panels of b.

std::int64_t lines_of_panel() { return kLines; }

// Each of these puts the terms of lines to panels and gives the lines' sums of squares.

// kPanels panels side by side, `panel` floats apart, of lines that lie in columns.
template <int kPanels>
HWY_INLINE void gather_columns(const Lines& lines, float* to, std::int64_t panel, Vec* squares) {
  constexpr std::int64_t kAhead = 32;  // Rows, each of which is on a page of its own.
  const std::int64_t stride = lines.all.stride;
  const float* from = lines.all.data + lines.term * stride + lines.first;
  Vec sums[kPanels];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) sums[i] = zero();
  for (std::int64_t term = 0; term < lines.depth; ++term, from += stride, to += kLines) {
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) {
      __builtin_prefetch(from + kAhead * stride + i * kLines);
      const Vec value = hn::LoadU(kFloats, from + i * kLines);
      hn::Store(value, kFloats, to + i * panel);
      sums[i] = hn::MulAdd(value, value, sums[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) squares[i] = sums[i];
}

// A panel of the last lines, which are fewer.
HWY_INLINE Vec gather_part(const Lines& lines, float* to) {
  Vec squares = zero();
  for (std::int64_t term = 0; term < lines.depth; ++term, to += kLines) {
    for (std::int64_t i = 0; i < kLines; ++i) to[i] = i < lines.count ? lines.at(i, term) : 0.0F;
    const Vec value = hn::Load(kFloats, to);
    squares = hn::MulAdd(value, value, squares);
  }
  return squares;
}

// A panel of lines that lie in rows.
HWY_INLINE Vec gather_rows(const Lines& lines, float* to) {
  constexpr std::int64_t kCacheLine = 16, kAhead = 10 * kCacheLine;
  const std::int64_t stride = lines.all.stride;
  const float* from = lines.all.data + lines.first * stride + lines.term;
  Vec sums[kStripColumns];
  for (Vec& sum : sums) sum = zero();
  std::int64_t term = 0;
  for (; term + kStripColumns <= lines.depth; term += kStripColumns, to += kStripColumns * kLines) {
    if (term % kCacheLine == 0) {
      for (std::int64_t i = 0; i < kLines; ++i) __builtin_prefetch(from + i * stride + term + kAhead);
    }
    Vec strip[kStripColumns];
    transpose_strip(from + term, stride, strip);
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < kStripColumns; ++i) {
      hn::Store(strip[i], kFloats, to + i * kLines);
      sums[i] = hn::MulAdd(strip[i], strip[i], sums[i]);
    }
  }
  for (; term < lines.depth; ++term, to += kLines) {
    for (std::int64_t i = 0; i < kLines; ++i) to[i] = from[i * stride + term];
    const Vec value = hn::Load(kFloats, to);
    sums[0] = hn::MulAdd(value, value, sums[0]);
  }
  return hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
}

struct LineScales {  // A lane a line.
  Vec to, back;
};

// Powers of two that bring each line to a mean square of about 1, and back. A line of zeros comes back as
// zeros, whatever was added to it.
HWY_INLINE LineScales scales_of(Vec squares, const float* panel, std::int64_t depth) {
  Vec size = hn::Sqrt(hn::Mul(squares, splat(1 / static_cast<float>(depth))));
  const FloatMask in_range = hn::And(hn::Gt(squares, splat(1e-30F)), hn::Lt(squares, splat(1e30F)));
  if (!hn::AllTrue(kFloats, in_range)) {
    Vec largest = zero();
    for (std::int64_t term = 0; term < depth; ++term)
      largest = hn::Max(largest, hn::Abs(hn::Load(kFloats, panel + term * kLines)));
    size = hn::IfThenElse(in_range, size, largest);
  }
  const hn::RebindToSigned<Floats> bits;
  const auto exponent =
      hn::Min(hn::Max(hn::ShiftRight<23>(hn::BitCast(bits, size)), hn::Set(bits, 1)), hn::Set(bits, 252));
  const auto power = [&](auto biased) HWY_ATTR { return hn::BitCast(kFloats, hn::ShiftLeft<23>(biased)); };
  return {power(hn::Sub(hn::Set(bits, 254), exponent)),
          hn::IfThenZeroElse(hn::Eq(size, zero()), power(exponent))};
}

// Scales the terms of a panel, and puts behind them what their pairs leave and the scales back.
HWY_INLINE void finish_panel(Vec squares, std::int64_t depth, float* panel) {
  const LineScales scales = scales_of(squares, panel, depth);
  const auto scaled = [&](float* at) HWY_ATTR __attribute__((always_inline)) {
    const Vec value = hn::Mul(hn::Load(kFloats, at), scales.to);
    hn::Store(value, kFloats, at);
    return value;
  };
  Vec rest = zero();
  float* end = panel + depth * kLines;
  for (; panel + 3 * kLines <= end; panel += 3 * kLines) {
    const Vec first = scaled(panel), second = scaled(panel + kLines);
    rest = hn::NegMulAdd(first, second, rest);
    scaled(panel + 2 * kLines);
  }
  for (; panel < end; panel += kLines) scaled(panel);
  hn::Store(rest, kFloats, end);
  hn::Store(scales.back, kFloats, end + kLines);
}

// The panels of the lines, side by side.
void put_panels(const Lines& lines, float* to) {
  constexpr int kAtOnce = 4;
  const std::int64_t panel = panel_floats(lines.depth, kLines);
  Lines here = lines;
  for (std::int64_t left = lines.count; left > 0;) {
    Vec squares[kAtOnce];
    int panels = 1;
    here.first = lines.first + lines.count - left;
    here.count = std::min(left, kLines);
    if (left < kLines) {
      squares[0] = gather_part(here, to);
    } else if (!lines.all.is_transposed) {
      squares[0] = gather_rows(here, to);
    } else if (left < kAtOnce * kLines) {
      gather_columns<1>(here, to, panel, squares);
    } else {
      panels = kAtOnce;
      gather_columns<kAtOnce>(here, to, panel, squares);
    }
    for (int i = 0; i < panels; ++i, to += panel) finish_panel(squares[i], lines.depth, to);
    left -= panels * kLines;
  }
}

// Where a block of y lies, and what is beyond it.
struct BlockPlace {
  std::int64_t row, column, rows, columns;  // `rows` and `columns` exist.
};

template <int kAcross>
HWY_INLINE void finish(const PairedStep& s, const Vec* sums, const float* left_back, const float* right_back,
                       std::int64_t right_panel, const BlockPlace& place) {
  const auto put = [&](int i, auto lane) HWY_ATTR __attribute__((always_inline)) {
    const Vec back = hn::Load(kFloats, right_back + i * right_panel);
    const std::int64_t column = place.column + i * kLines;
    const Vec bias = s.bias == nullptr ? zero() : lane.load(s.bias + column);
    float* y = s.y + place.row * s.y_stride + column;
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r, y += s.y_stride) {
      if (r >= place.rows) return;
      Vec sum = hn::Mul(hn::Mul(sums[r * kAcross + i], splat(left_back[r])), back);
      if (s.adds) sum = hn::Add(sum, lane.load(y));
      if (s.bias != nullptr) sum = hn::Add(sum, bias);
      lane.store(s.has_relu ? relu(sum) : sum, y);
    }
  };
#pragma GCC unroll 2
  for (int i = 0; i < kAcross; ++i) {
    const std::int64_t columns = place.columns - i * kLines;
    if (columns >= kLines) {
      put(i, Whole{});
    } else {
      put(i, Part{static_cast<std::size_t>(columns)});
    }
  }
}

// sums (kBlockRows, kAcross vectors) += a·b over `depth` terms, and their last rows. Of three terms the first
// two are a pair.
template <int kAcross>
HWY_INLINE void add_products(const float* a, const float* b, std::int64_t b_panel, std::int64_t depth,
                             Vec* sums) {
  const auto vector = [&](std::int64_t term, int i) HWY_ATTR __attribute__((always_inline)) {
    return hn::Load(kFloats, b + term * kLines + i * b_panel);
  };
  const float* rest = a + depth * kLines;
#pragma GCC unroll 8
  for (int r = 0; r < kBlockRows; ++r) {
#pragma GCC unroll 2
    for (int i = 0; i < kAcross; ++i) sums[r * kAcross + i] = hn::Add(splat(rest[r]), vector(depth, i));
  }
  std::int64_t left = depth;
  for (; left >= 3; left -= 3, a += 3 * kLines, b += 3 * kLines) {
    Vec first[kAcross], second[kAcross];
#pragma GCC unroll 2
    for (int i = 0; i < kAcross; ++i) {
      first[i] = vector(0, i);
      second[i] = vector(1, i);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r) {
      const Vec p = splat(a[r]), q = splat(a[kLines + r]);
#pragma GCC unroll 2
      for (int i = 0; i < kAcross; ++i) {
        sums[r * kAcross + i] =
            hn::MulAdd(hn::Add(p, second[i]), hn::Add(q, first[i]), sums[r * kAcross + i]);
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kAcross; ++i) first[i] = vector(2, i);
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r) {
      const Vec t = splat(a[2 * kLines + r]);
#pragma GCC unroll 2
      for (int i = 0; i < kAcross; ++i)
        sums[r * kAcross + i] = hn::MulAdd(t, first[i], sums[r * kAcross + i]);
    }
  }
  for (; left > 0; --left, a += kLines, b += kLines) {
#pragma GCC unroll 8
    for (int r = 0; r < kBlockRows; ++r) {
#pragma GCC unroll 2
      for (int i = 0; i < kAcross; ++i)
        sums[r * kAcross + i] = hn::MulAdd(splat(a[r]), vector(0, i), sums[r * kAcross + i]);
    }
  }
}

// The rows of y of a panel of a, its columns of kAcross panels of b.
template <int kAcross>
HWY_INLINE void multiply_panels(const PairedStep& s, std::int64_t a_line, std::int64_t b_line) {
  const std::int64_t panel = panel_floats(s.depth, kLines), end = s.depth * kLines;
  const float* left = s.a.data + a_line / kLines * panel;
  const float* right = s.b.data + b_line / kLines * panel;
  for (int r = 0; r < kLines && a_line + r < s.a.count; r += kBlockRows) {
    const BlockPlace place{s.a.first + a_line + r, s.b.first + b_line,
                           std::min<std::int64_t>(kBlockRows, s.a.count - a_line - r), s.b.count - b_line};
    const float* y = s.y + place.row * s.y_stride + place.column;
    for (std::int64_t i = 0; i < place.rows; ++i) {
      __builtin_prefetch(y + i * s.y_stride, 1);
      if (kAcross > 1) __builtin_prefetch(y + i * s.y_stride + kLines, 1);
    }
    if (s.ahead != nullptr) s.ahead->fetch();
    Vec sums[kBlockRows * kAcross];
    add_products<kAcross>(left + r, right, panel, s.depth, sums);
    finish<kAcross>(s, sums, left + end + kLines + r, right + end + kLines, panel, place);
  }
}

HWY_NOINLINE void multiply_two(const PairedStep& s, std::int64_t a_line, std::int64_t b_line) {
  multiply_panels<kBlockAcross>(s, a_line, b_line);
}
HWY_NOINLINE void multiply_one(const PairedStep& s, std::int64_t a_line, std::int64_t b_line) {
  multiply_panels<1>(s, a_line, b_line);
}

void multiply_step(const PairedStep& s) {
  for (std::int64_t b = 0; b < s.b.count; b += kBlockAcross * kLines) {
    const bool has_two = b + kLines < s.b.count;
    for (std::int64_t a = 0; a < s.a.count; a += kLines)
      has_two ? multiply_two(s, a, b) : multiply_one(s, a, b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
