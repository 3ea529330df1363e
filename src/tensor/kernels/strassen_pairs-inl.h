// S. Winograd, "A new algorithm for inner product", 1968: two terms take one multiplication and two sums,
//
//   a1·b1 + a2·b2 = (a1 + b2)·(a2 + b1) − a1·a2 − b1·b2
//
// where a1·a2 is the same for all columns and b1·b2 for all rows: panels have them as a last row, summed up.
// A processor that adds beside its multiply-adds so takes the time of two terms for three, of which two are a
// pair and the third is multiplied plainly. A sum of operands of different size would lose the smaller one:
// groups of 64 rows or columns are scaled by a power of two to a mean square of about 1, results scaled back.
//
// Included once a target; everything is inside HWY_NAMESPACE.
#if defined(HOCKET_TENSOR_KERNELS_STRASSEN_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_STRASSEN_PAIRS_INL_H_
#undef HOCKET_TENSOR_KERNELS_STRASSEN_PAIRS_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_STRASSEN_PAIRS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "tensor/kernels/simd-inl.h"
#include "tensor/kernels/strassen_step.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// Of the terms 3i, 3i + 1 and 3i + 2, for i below this, the first two are a pair; all others are plain: two
// thirds are pairs but for the time that the same adders need for sums of blocks.
HWY_INLINE std::int64_t pairs_in(std::int64_t depth) { return std::max(std::int64_t{0}, depth / 3 - 2); }

// Whether the term is the second of a pair.
HWY_INLINE bool ends_pair(std::int64_t term, std::int64_t depth) {
  return term % 3 == 1 && term < 3 * pairs_in(depth);
}

struct Scale {
  float to = 1, back = 1;
};

// That of numbers with such a sum of squares, which may be out of range, and such a largest one. Of zeros it
// makes zero again whatever was added to them.
HWY_INLINE Scale scale_of(float squares, float largest, std::int64_t count) {
  const bool in_range = squares > 1e-30F && squares < 1e30F;
  const float size = in_range ? std::sqrt(squares / static_cast<float>(count)) : largest;
  if (size == 0) return {1, 0};
  if (!std::isfinite(size)) return {};
  const int exponent = std::clamp(std::ilogb(size), -126, 126);
  return {std::ldexp(1.0F, -exponent), std::ldexp(1.0F, exponent)};
}

// That of `rows` rows of `width` floats, `stride` apart.
HWY_INLINE Scale scale_of(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t width) {
  constexpr int kChains = 4;  // Of sums, which wait for nobody.
  const auto step = static_cast<std::int64_t>(lanes());
  Vec squares[kChains], largest[kChains];
  for (int i = 0; i < kChains; ++i) squares[i] = largest[i] = zero();
  const auto add = [&](int i, Vec value) HWY_ATTR __attribute__((always_inline)) {
    squares[i] = hn::MulAdd(value, value, squares[i]);
    largest[i] = hn::Max(largest[i], hn::Abs(value));
  };
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    std::int64_t at = 0;
    for (; at + kChains * step <= width; at += kChains * step) {
#pragma GCC unroll 4
      for (int i = 0; i < kChains; ++i) add(i, hn::LoadU(kFloats, x + at + i * step));
    }
    for_vectors(static_cast<std::size_t>(width - at),
                [&](std::size_t i, auto lane) HWY_ATTR { add(0, lane.load(x + at + i)); });
  }
  for (int i = 1; i < kChains; ++i) {
    squares[0] = hn::Add(squares[0], squares[i]);
    largest[0] = hn::Max(largest[0], largest[i]);
  }
  return scale_of(sum_lanes(squares[0]), max_lanes(largest[0]), rows * width);
}

// A vector of a row, scaled as it is loaded.
struct ScaledLane {
  Vec scale;
  HWY_INLINE Vec load(const float* p) const { return hn::Mul(hn::LoadU(kFloats, p), scale); }
};

// −x1·x2 of all pairs of the panels of a tile, whose rows are kAcross vectors.
template <int kAcross, std::int64_t kPanels>
class PairSums {
 public:
  PairSums() {
    for (std::int64_t i = 0; i < kPanels * kAcross; ++i) hn::Store(zero(), kFloats, sums_ + i * kWidth);
  }
  // Of the two rows that end at `end` of the first panel.
  HWY_INLINE void add(const float* end, std::int64_t panel) {
    for (std::int64_t i = 0; i < kPanels; ++i, end += panel) {
#pragma GCC unroll 2
      for (int at = 0; at < kAcross; ++at) {
        float* sum = sums_ + (i * kAcross + at) * kWidth;
        const Vec x1 = hn::Load(kFloats, end + (at - 2 * kAcross) * kWidth);
        const Vec x2 = hn::Load(kFloats, end + (at - kAcross) * kWidth);
        hn::Store(hn::NegMulAdd(x1, x2, hn::Load(kFloats, sum)), kFloats, sum);
      }
    }
  }
  // To the row `to` of the first panel, and those of the others.
  HWY_INLINE void put(float* to, std::int64_t panel) const {
    for (std::int64_t i = 0; i < kPanels; ++i, to += panel) {
      for (int at = 0; at < kAcross; ++at)
        hn::Store(hn::Load(kFloats, sums_ + (i * kAcross + at) * kWidth), kFloats, to + at * kWidth);
    }
  }

 private:
  static constexpr std::int64_t kWidth = hn::MaxLanes(kFloats);
  HWY_ALIGN float sums_[kPanels * kAcross * kWidth];
};

// The same place, unknown to the compiler: what is read there again is read in the instruction that needs it,
// in place of a register that an instruction of its own fills, for which the adders would wait.
HWY_INLINE const float* same_place(const float* p) {
  asm("" : "+r"(p));
  return p;
}

// sums (kRows, kAcross vectors) += a·b over `depth` terms, and their last rows. Terms of a are `a_row` floats
// apart, those of b lie side by side.
template <int kRows, int kAcross>
HWY_INLINE void multiply_pairs(const float* a, std::int64_t a_row, const float* b, std::int64_t depth,
                               Vec* sums) {
  const auto b_row = static_cast<std::int64_t>(kAcross * lanes());
  const auto each = [](const auto& body) HWY_ATTR __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int i = 0; i < kAcross; ++i) body(r, i, r * kAcross + i);
    }
  };
  const auto vector = [&](std::int64_t row, int i) HWY_ATTR __attribute__((always_inline)) {
    return hn::Load(kFloats, b + row * b_row + i * static_cast<std::int64_t>(lanes()));
  };
  const auto multiply = [&]() HWY_ATTR __attribute__((always_inline)) {
    const float* place[2] = {a, same_place(a)};
    Vec factor[kAcross];
#pragma GCC unroll 2
    for (int i = 0; i < kAcross; ++i) factor[i] = vector(0, i);
    each([&](int r, int i, int at) HWY_ATTR
         __attribute__((always_inline)) { sums[at] = hn::MulAdd(splat(place[i][r]), factor[i], sums[at]); });
    a += a_row;
    b += b_row;
  };
  const auto multiply_pair = [&]() HWY_ATTR __attribute__((always_inline)) {
    const float* place[2] = {a, same_place(a)};
    Vec first[kAcross], second[kAcross];
#pragma GCC unroll 2
    for (int i = 0; i < kAcross; ++i) {
      first[i] = vector(0, i);
      second[i] = vector(1, i);
    }
    each([&](int r, int i, int at) HWY_ATTR __attribute__((always_inline)) {
      const float* p = place[i] + r;
      sums[at] = hn::MulAdd(hn::Add(splat(p[0]), second[i]), hn::Add(splat(p[a_row]), first[i]), sums[at]);
    });
    a += 2 * a_row;
    b += 2 * b_row;
  };

  const float* rest = a + depth * a_row;
  each([&](int r, int i, int at) HWY_ATTR __attribute__((always_inline)) {
    sums[at] = hn::Add(sums[at], hn::Add(splat(rest[r]), vector(depth, i)));
  });
  const std::int64_t pairs = pairs_in(depth);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    multiply_pair();
    multiply();
  }
  for (std::int64_t term = 3 * pairs; term < depth; ++term) multiply();
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
