// V. Strassen, "Gaussian elimination is not optimal", 1969, in the form of S. Winograd: a product of matrices
// in 2 × 2 parts takes seven products of sums of parts,
//
//   P1 = a11·b11   P2 = a12·b21   P3 = s4·b22   P4 = a22·t4   P5 = s1·t1   P6 = s2·t2   P7 = s3·t3
//   s1 = a21 + a22   s2 = s1 − a11   s3 = a11 − a21   s4 = a12 − s2
//   t1 = b12 − b11   t2 = b22 − t1   t3 = b22 − b12   t4 = b21 − t2
//   y11 = P1 + P2   u2 = P1 + P6   u3 = u2 + P7   y12 = u2 + P5 + P3   y21 = u3 + P4   y22 = u3 + P5
//
// here twice, so that 49 products of parts of a quarter each way replace 64. Sums of parts are made while
// they are packed, from what lies at one place of all 16 parts, in registers. A tile of y, one block in
// registers of each of its 16 parts, goes through all 49 products before the next one begins, so that what
// they add up to never leaves the first cache.
//
// Included once a target; everything is inside HWY_NAMESPACE.
#if defined(HOCKET_TENSOR_KERNELS_STRASSEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_STRASSEN_INL_H_
#undef HOCKET_TENSOR_KERNELS_STRASSEN_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_STRASSEN_INL_H_
#endif

#include <algorithm>

#include "tensor/kernels/simd-inl.h"
#include "tensor/kernels/strassen_pairs-inl.h"
#include "tensor/kernels/strassen_step.h"
#include "tensor/kernels/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

constexpr std::int64_t kLanes = hn::MaxLanes(kFloats);
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // Of a block in registers,
constexpr int kMostAcross = 2;                         // and vectors in each: one at the right end, maybe.
constexpr std::int64_t kFloatsOfBlock = kRows * kMostAcross * kLanes;
constexpr std::int64_t kNextInY = place_in_y(kLanes);  // From a vector of a block to the next.

constexpr bool kHasPairs = kLanes == kMostLanes;  // Else nobody asks for them.

// How a panel of a lies and is multiplied.
enum class Way { by_row, by_column, in_pairs };  // In pairs: by column, too.

// Panels: sums of parts of a by row, or by column where a is transposed or terms are paired, for kLanes rows
// of y; of b by row, for as many columns as a block has. Rows of a are whole vectors.
HWY_INLINE std::int64_t left_row(const StrassenStep& s) { return round_up(s.part_depth(), kLanes); }
HWY_INLINE std::int64_t left_panel(const StrassenStep& s) {
  return kLanes * (left_row(s) + s.rows_of_pairs()) + kPad;
}
HWY_INLINE std::int64_t right_panel(const StrassenStep& s, int across) {
  return across * kLanes * (s.part_depth() + s.rows_of_pairs()) + kPad;
}
HWY_INLINE float* right_panels(const StrassenStep& s, std::int64_t tile) {
  return s.right + tile * kProducts * right_panel(s, kMostAcross);
}
std::int64_t right_tiles(const StrassenStep& s) {
  return (s.part_columns() + kMostAcross * kLanes - 1) / (kMostAcross * kLanes);
}
// Vectors in a row of its blocks.
HWY_INLINE int across_of(const StrassenStep& s, std::int64_t tile) {
  return tile < s.part_columns() / (kMostAcross * kLanes) ? kMostAcross : 1;
}

// The sum that takes part in the product `number`, in the order in which they are made: P1, P2, P6, P7, P5,
// P3, P4.
template <bool kLeft>
HWY_INLINE Vec sum_of(int number, Vec x11, Vec x12, Vec x21, Vec x22) {
  if constexpr (kLeft) {
    switch (number) {
      case 0: return x11;
      case 1: return x12;
      case 2: return hn::Sub(hn::Add(x21, x22), x11);
      case 3: return hn::Sub(x11, x21);
      case 4: return hn::Add(x21, x22);
      case 5: return hn::Sub(hn::Add(x11, x12), hn::Add(x21, x22));
      default: return x22;
    }
  } else {
    switch (number) {
      case 0: return x11;
      case 1: return x21;
      case 2: return hn::Add(hn::Sub(x22, x12), x11);
      case 3: return hn::Sub(x22, x12);
      case 4: return hn::Sub(x12, x11);
      case 5: return x22;
      default: return hn::Sub(hn::Sub(x21, x11), hn::Sub(x22, x12));
    }
  }
}

// Where a place of the first part is in the others.
struct Parts {
  std::int64_t row, column;  // Floats from one part to the one below, and to the one on its right.
};

// The vectors at `at` of all panels, of those at `x` of all parts.
template <bool kLeft, typename Lane>
HWY_INLINE void put_sums(const float* x, Parts parts, const Lane& lane, float* at, std::int64_t panel) {
  Vec part[16];  // By quarter, then by its quarters.
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const int row = i / 8 * 2 + i / 2 % 2, column = i / 4 % 2 * 2 + i % 2;
    part[i] = lane.load(x + row * parts.row + column * parts.column);
  }
#pragma GCC unroll 7
  for (int outer = 0; outer < 7; ++outer) {
    Vec sum[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      sum[i] = sum_of<kLeft>(outer, part[i], part[4 + i], part[8 + i], part[12 + i]);
#pragma GCC unroll 7
    for (int inner = 0; inner < 7; ++inner, at += panel)
      hn::Store(sum_of<kLeft>(inner, sum[0], sum[1], sum[2], sum[3]), kFloats, at);
  }
}

HWY_INLINE void fetch_parts(const float* x, Parts parts) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) __builtin_prefetch(x + i / 4 * parts.row + i % 4 * parts.column);
}

constexpr std::int64_t kRowsAhead = 4;

// The panels of `rows` rows of `width` floats, `stride` apart, of the first part.
template <bool kLeft>
HWY_INLINE void put_panels(const float* x, std::int64_t stride, Parts parts, std::int64_t rows,
                           std::int64_t width, float* to, std::int64_t panel) {
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    for_vectors(static_cast<std::size_t>(width), [&](std::size_t i, auto lane) HWY_ATTR {
      const float* from =
          x + (kLeft ? static_cast<std::int64_t>(i) : place_in_y(static_cast<std::int64_t>(i)));
      if (!kLeft && row + kRowsAhead < rows) fetch_parts(from + kRowsAhead * stride, parts);
      put_sums<kLeft>(from, parts, lane, to, panel);
      to += kLanes;
    });
  }
}

// Panels in pairs, which grow by rows of kAcross vectors. Each vector of a row is of another group, with a
// scale of its own.
template <bool kLeft, int kAcross>
class PairedPanels {
 public:
  PairedPanels(const Scale* scales, std::int64_t depth, float* to, std::int64_t panel)
      : depth_(depth), panel_(panel), to_(to) {
    for (int i = 0; i < kAcross; ++i) scales_[i] = splat(scales[i].to);
  }

  // Adds `rows` rows, `stride` apart, of the first part.
  HWY_INLINE void put(const float* x, std::int64_t stride, Parts parts, std::int64_t rows) {
    for (const std::int64_t end = row_ + rows; row_ < end; ++row_, x += stride) {
      for (int i = 0; i < kAcross; ++i, to_ += kLanes) {
        const float* from = x + place_in_y(i * kLanes);
        if (!kLeft && row_ + kRowsAhead < end) fetch_parts(from + kRowsAhead * stride, parts);
        put_sums<kLeft>(from, parts, ScaledLane{scales_[i]}, to_, panel_);
      }
      if (ends_pair(row_, depth_)) pairs_.add(to_, panel_);
    }
    if (row_ == depth_) pairs_.put(to_, panel_);
  }

 private:
  Vec scales_[kAcross];
  std::int64_t row_ = 0, depth_, panel_;
  float* to_;
  PairSums<kAcross, kProducts> pairs_;
};

// The panels in pairs of the rows of y from `row` of each part on; by what they are scaled back. `flat` holds
// what is transposed on the way, so little at a time that it stays in the first cache.
HWY_INLINE float put_left_pairs(const StrassenStep& s, std::int64_t row, float* to, float* flat) {
  const std::int64_t stride = s.a.stride, depth = s.part_depth();
  const float* from = s.a.data + place_in_y(row) * (s.a.is_transposed ? 1 : stride);
  const Scale scale =
      s.a.is_transposed ? scale_of(from, stride, s.k, kGroup) : scale_of(from, stride, kGroup, s.k);
  PairedPanels<true, 1> panels(&scale, depth, to, left_panel(s));
  if (s.a.is_transposed) {
    panels.put(from, stride, {kRun, depth * stride}, depth);
    return scale.back;
  }
  for (std::int64_t term = 0; term < depth; term += kFlatRows) {
    const std::int64_t terms = std::min(kFlatRows, depth - term);
    for (std::int64_t part = 0; part < kSide; ++part)
      transpose_floats(from + part * depth + term, stride, kGroup, terms, flat + part * kFlatRows * kFlatRow,
                       kFlatRow);
    panels.put(flat, kFlatRow, {kRun, kFlatRows * kFlatRow}, terms);
  }
  return scale.back;
}

// Of the rows of y from `row` of each part on.
HWY_INLINE void put_left(const StrassenStep& s, std::int64_t row, float* to) {
  const std::int64_t stride = s.a.stride, depth = s.part_depth();
  if (s.a.is_transposed) {
    put_panels<true>(s.a.data + place_in_y(row), stride, {kRun, depth * stride}, depth, kLanes, to,
                     left_panel(s));
  } else {
    put_panels<true>(s.a.data + place_in_y(row) * stride, stride, {kRun * stride, depth}, kLanes, depth, to,
                     left_panel(s));
  }
}

// Of the columns of y in a tile, whose first part begins at `x`.
template <int kAcross>
HWY_INLINE void put_right_pairs(const StrassenStep& s, std::int64_t tile, const float* x, std::int64_t stride,
                                Parts parts) {
  Scale scales[kAcross];
  for (int i = 0; i < kAcross; ++i) {
    scales[i] = scale_of(x + i * kGroup, stride, s.k, kGroup);
    s.right_back[tile * kMostAcross + i] = scales[i].back;
  }
  PairedPanels<false, kAcross> panels(scales, s.part_depth(), right_panels(s, tile), right_panel(s, kAcross));
  panels.put(x, stride, parts, s.part_depth());
}

// Of the columns of y in a tile. `flat` holds what is transposed on the way.
void put_right(const StrassenStep& s, std::int64_t tile, float* flat) {
  const std::int64_t column = place_in_y(tile * kMostAcross * kLanes), depth = s.part_depth();
  const std::int64_t width = across_of(s, tile) * kLanes, panel = right_panel(s, across_of(s, tile));
  const float* from = s.b.data + column;
  std::int64_t stride = s.b.stride;
  if (s.b.is_transposed) {
    transpose_floats(s.b.data + column * stride, stride, kSide * width, s.k, flat, kSide * width + kPad);
    from = flat;
    stride = kSide * width + kPad;
  }
  const Parts parts{depth * stride, kRun};
  if (kHasPairs && s.in_pairs) {
    if (across_of(s, tile) == kMostAcross) {
      put_right_pairs<kMostAcross>(s, tile, from, stride, parts);
    } else {
      put_right_pairs<1>(s, tile, from, stride, parts);
    }
  } else {
    put_panels<false>(from, stride, parts, depth, width, right_panels(s, tile), panel);
  }
}

template <int kAcross>
struct Block {
  static constexpr int kVectors = kRows * kAcross;
  Vec sums[kVectors];

  HWY_INLINE void clear() {
    each([&](int i) HWY_ATTR { sums[i] = zero(); });
  }
  HWY_INLINE void load(const float* from) {
    each([&](int i) HWY_ATTR { sums[i] = hn::Load(kFloats, from + i * kLanes); });
  }
  HWY_INLINE void add(const float* from) {
    each([&](int i) HWY_ATTR { sums[i] = hn::Add(sums[i], hn::Load(kFloats, from + i * kLanes)); });
  }
  HWY_INLINE void store(float* to) const {
    each([&](int i) HWY_ATTR { hn::Store(sums[i], kFloats, to + i * kLanes); });
  }
  HWY_INLINE void store_sum(const float* other, float* to) const {
    each([&](int i) HWY_ATTR {
      hn::Store(hn::Add(sums[i], hn::Load(kFloats, other + i * kLanes)), kFloats, to + i * kLanes);
    });
  }

  template <typename Body>
  static HWY_INLINE void each(const Body& body) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) body(i);
  }
};

// The panels of a product and how to walk through them.
template <Way kWay, int kAcross>
struct Factors {
  const float* a;
  const float* b;
  std::int64_t depth, a_row, a_panel, b_panel;

  HWY_INLINE Factors from(int product) const {
    return {a + product * a_panel, b + product * b_panel, depth, a_row, a_panel, b_panel};
  }

  HWY_INLINE void multiply(int product, Block<kAcross>& block) const {
    const float* left = a + product * a_panel;
    const float* right = b + product * b_panel;
    if constexpr (kWay == Way::in_pairs) {
      multiply_pairs<kRows, kAcross>(left, kLanes, right, depth, block.sums);
      return;
    }
    const std::int64_t row = kWay == Way::by_row ? a_row : 1, step = kWay == Way::by_row ? 1 : kLanes;
    for (std::int64_t k = 0; k < depth; ++k, left += step, right += kAcross * kLanes) {
      Vec factor[kAcross];
#pragma GCC unroll 2
      for (int i = 0; i < kAcross; ++i) factor[i] = hn::Load(kFloats, right + i * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const Vec value = splat(left[r * row]);
#pragma GCC unroll 2
        for (int i = 0; i < kAcross; ++i) {
          Vec& sum = block.sums[r * kAcross + i];
          sum = hn::MulAdd(value, factor[i], sum);
        }
      }
    }
  }
};

// Where a quarter of a tile goes: four blocks, of its own quarters, in memory of the tile or to y.
template <int kAcross>
struct Quarter {
  float* blocks = nullptr;
  const float* plus = nullptr;  // Four blocks to add, or none.
  const StrassenStep* step = nullptr;
  std::int64_t row = 0, column = 0;   // Of y.
  float left_back = 1;                // In pairs: by what its rows are scaled back,
  const float* right_back = nullptr;  // and its columns, each vector of a block.

  HWY_INLINE float* place(int part) const {
    return step->y + (row + part / 2 * kRun) * step->y_stride + column + part % 2 * kRun;
  }

  // What will be written, on its way to the cache while products are made.
  HWY_INLINE void fetch(int part) const {
    if (step == nullptr) return;
    const float* y = place(part);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r, y += step->y_stride) {
#pragma GCC unroll 2
      for (int i = 0; i < kAcross; ++i) __builtin_prefetch(y + i * kNextInY, 1);
    }
  }

  HWY_INLINE void put(int part, const Block<kAcross>& block) const {
    if (step != nullptr) {
      finish(part, block);
    } else if (plus != nullptr) {
      block.store_sum(plus + part * kFloatsOfBlock, blocks + part * kFloatsOfBlock);
    } else {
      block.store(blocks + part * kFloatsOfBlock);
    }
  }

  HWY_INLINE void finish(int part, const Block<kAcross>& block) const {
    float* y = place(part);
    const float* other = plus + part * kFloatsOfBlock;
    const float* bias = step->bias == nullptr ? nullptr : step->bias + column + part % 2 * kRun;
    block.each([&](int i) HWY_ATTR {
      const std::int64_t across = i % kAcross * kNextInY;
      float* to = y + i / kAcross * step->y_stride + across;
      Vec sum = hn::Add(block.sums[i], hn::Load(kFloats, other + i * kLanes));
      if (right_back != nullptr)
        sum = hn::Mul(hn::Mul(sum, splat(left_back)), splat(right_back[i % kAcross]));
      if (step->adds) sum = hn::Add(sum, hn::LoadU(kFloats, to));
      if (bias != nullptr) sum = hn::Add(sum, hn::LoadU(kFloats, bias + across));
      hn::StoreU(step->has_relu ? relu(sum) : sum, kFloats, to);
    });
  }
};

// The seven products of a quarter, to `to` and, where `also` is not null, added to the blocks there.
template <Way kWay, int kAcross>
HWY_NOINLINE void multiply_quarter(const Factors<kWay, kAcross> factors, const Quarter<kAcross>& to,
                                   float* also, float* work) {
  const auto put = [&](int part, const Block<kAcross>& block) HWY_ATTR __attribute__((always_inline)) {
    to.put(part, block);
    if (also != nullptr) block.store_sum(also + part * kFloatsOfBlock, also + part * kFloatsOfBlock);
  };
  float* u2 = work;
  float* u3 = work + kFloatsOfBlock;
  Block<kAcross> block;
  to.fetch(0);
  block.clear();
  factors.multiply(0, block);
  block.store(u2);
  factors.multiply(1, block);
  put(0, block);
  to.fetch(3);
  block.load(u2);
  factors.multiply(2, block);
  block.store(u2);
  factors.multiply(3, block);
  block.store(u3);
  to.fetch(1);
  block.clear();
  factors.multiply(4, block);
  Block<kAcross> last = block;
  last.add(u3);
  put(3, last);
  to.fetch(2);
  block.add(u2);
  factors.multiply(5, block);
  put(1, block);
  block.load(u3);
  factors.multiply(6, block);
  put(2, block);
}

// The lines of a that the next panels are made of, on their way to the second cache while these are used.
class OperandAhead {
 public:
  // Those of the rows of y from `row` of each part on, in so many calls of fetch().
  OperandAhead(const StrassenStep& s, std::int64_t row, std::int64_t calls) : stride_(s.a.stride) {
    if (row >= s.part_rows()) return;
    if (s.a.is_transposed) {
      next_ = s.a.data + place_in_y(row);
      part_ = kRun;
      rows_ = s.k;
      lines_ = 1;
    } else {
      next_ = s.a.data + place_in_y(row) * stride_;
      part_ = kRun * stride_;
      rows_ = kLanes;
      lines_ = (s.k + kMostLanes - 1) / kMostLanes;
    }
    left_ = kSide * rows_ * lines_;
    at_once_ = (left_ + calls - 1) / calls;
  }

  HWY_INLINE void fetch() {
    for (std::int64_t i = std::min(at_once_, left_); i > 0; --i, --left_) {
      __builtin_prefetch(next_ + row_ * stride_ + line_ * kMostLanes, 0, 2);
      if (++line_ < lines_) continue;
      line_ = 0;
      if (++row_ < rows_) continue;
      row_ = 0;
      next_ += part_;
    }
  }

 private:
  const float* next_ = nullptr;
  std::int64_t stride_, part_ = 0, rows_ = 0, lines_ = 0, left_ = 0, at_once_ = 0, row_ = 0, line_ = 0;
};

// The tile of y whose first part begins at (row, column) of y. `factors` are its first panels.
template <Way kWay, int kAcross>
HWY_INLINE void multiply_tile(const StrassenStep& s, const Factors<kWay, kAcross>& factors, std::int64_t row,
                              std::int64_t column, float left_back, const float* right_back,
                              OperandAhead& ahead, float* work) {
  float* u2 = work + 2 * kFloatsOfBlock;
  float* u3 = u2 + 4 * kFloatsOfBlock;
  const auto result = [&](int quarter, const float* plus) {
    return Quarter<kAcross>{
        nullptr,   plus,      &s, row + quarter / 2 * 2 * kRun, column + quarter % 2 * 2 * kRun,
        left_back, right_back};
  };
  const auto multiply = [&](int number, const Quarter<kAcross>& to, float* also = nullptr) {
    ahead.fetch();
    multiply_quarter(factors.from(7 * number), to, also, work);
  };
  multiply(0, {u2});
  multiply(1, result(0, u2));
  multiply(2, {u2, u2});
  multiply(3, {u3, u2});
  multiply(4, result(3, u3), u2);
  multiply(5, result(1, u2));
  multiply(6, result(2, u3));
}

// Tiles of kLanes rows of y in each part, from `row` of the first part on, by the panels of a tile of b.
template <Way kWay, int kAcross>
void multiply_column(const StrassenStep& s, std::int64_t row, std::int64_t tile, const float* panels,
                     float left_back, OperandAhead& ahead, float* work) {
  const float* right_back = kWay == Way::in_pairs ? s.right_back + tile * kMostAcross : nullptr;
  for (std::int64_t r = 0; r < kLanes; r += kRows) {
    const Factors<kWay, kAcross> factors{panels + (kWay == Way::by_row ? r * left_row(s) : r),
                                         right_panels(s, tile),
                                         s.part_depth(),
                                         left_row(s),
                                         left_panel(s),
                                         right_panel(s, kAcross)};
    multiply_tile(s, factors, place_in_y(row + r), place_in_y(tile * kMostAcross * kLanes), left_back,
                  right_back, ahead, work);
  }
}

// kLanes rows of y in each part, from row kLanes·tile on.
template <Way kWay>
void multiply_tiles(const StrassenStep& s, std::int64_t tile, float* panels, float* work) {
  const std::int64_t row = tile * kLanes, tiles_across = right_tiles(s);
  float left_back = 1;
  if constexpr (kWay == Way::in_pairs) {
    left_back = put_left_pairs(s, row, panels, panels + kProducts * left_panel(s));
  } else {
    put_left(s, row, panels);
  }
  OperandAhead ahead(s, row + kLanes, tiles_across * (kLanes / kRows) * 7);
  for (std::int64_t j = 0; j < tiles_across; ++j) {
    if (across_of(s, j) == kMostAcross) {
      multiply_column<kWay, kMostAcross>(s, row, j, panels, left_back, ahead, work);
    } else {
      multiply_column<kWay, 1>(s, row, j, panels, left_back, ahead, work);
    }
  }
}

void multiply_rows(const StrassenStep& s, std::int64_t tile, float* work) {
  float* panels = work + 10 * kFloatsOfBlock;
  if (kHasPairs && s.in_pairs) {
    multiply_tiles<Way::in_pairs>(s, tile, panels, work);
  } else if (s.a.is_transposed) {
    multiply_tiles<Way::by_column>(s, tile, panels, work);
  } else {
    multiply_tiles<Way::by_row>(s, tile, panels, work);
  }
}

std::int64_t vector_floats() { return kLanes; }

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
