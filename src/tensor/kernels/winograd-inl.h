// A. Lavin, S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016: F(4×4, 3×3). A tile of
// 4×4 outputs y comes from the 6×6 inputs d around it and the filter g as y = Aᵀ[(G g Gᵀ) ∘ (Bᵀ d B)]A. At
// each of the 36 positions of ∘, tiles × inputs times inputs × outputs is a matrix product. Vectors hold
// channels; a block of tiles goes through all three stages while it is in the cache. With the points ±√½ and
// ±√2 it rounds half as much as with the usual ±1 and ±2.
//
// The gradient of x is the convolution of that of y with the filters turned round; that of g is
// Gᵀ[Σ (A dy Aᵀ) ∘ (Bᵀ d B)]G over all tiles.
//
// Included once a target; everything is inside HWY_NAMESPACE.
#if defined(HOCKET_TENSOR_KERNELS_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_WINOGRAD_INL_H_
#undef HOCKET_TENSOR_KERNELS_WINOGRAD_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_WINOGRAD_INL_H_
#endif

#include <cstdint>

#include "tensor/kernels/simd-inl.h"
#include "tensor/kernels/winograd_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

HWY_INLINE Vec times(float factor, Vec v) { return hn::Mul(splat(factor), v); }
HWY_INLINE Vec add_times(Vec sum, float factor, Vec v) { return hn::MulAdd(splat(factor), v, sum); }

constexpr float kNear = 0.70710678F, kFar = 1.41421356F;  // The points, with 0 and infinity.

struct Inputs {  // Bᵀ d
  HWY_INLINE void operator()(const Vec (&d)[6], Vec (&v)[6]) const {
    const Vec even = add_times(d[4], -2, d[2]), odd = add_times(d[3], -2, d[1]);
    const Vec even2 = add_times(d[4], -0.5F, d[2]), odd2 = add_times(d[3], -0.5F, d[1]);
    v[0] = hn::Add(add_times(d[4], -2.5F, d[2]), d[0]);
    v[1] = add_times(even, kNear, odd);
    v[2] = add_times(even, -kNear, odd);
    v[3] = add_times(even2, kFar, odd2);
    v[4] = add_times(even2, -kFar, odd2);
    v[5] = hn::Add(add_times(d[5], -2.5F, d[3]), d[1]);
  }
};

struct Outputs {  // Aᵀ m
  HWY_INLINE void operator()(const Vec (&m)[6], Vec (&y)[4]) const {
    const Vec even = hn::Add(m[1], m[2]), odd = times(kNear, hn::Sub(m[1], m[2]));
    const Vec even2 = hn::Add(m[3], m[4]), odd2 = times(kFar, hn::Sub(m[3], m[4]));
    y[0] = hn::Add(hn::Add(m[0], even), even2);
    y[1] = hn::Add(odd, odd2);
    y[2] = add_times(times(0.5F, even), 2, even2);
    y[3] = add_times(add_times(m[5], 0.5F, odd), 2, odd2);
  }
};

struct Gradients {  // A dy
  HWY_INLINE void operator()(const Vec (&y)[4], Vec (&m)[6]) const {
    const Vec even = add_times(y[0], 0.5F, y[2]), odd = add_times(y[1], 0.5F, y[3]);
    const Vec even2 = add_times(y[0], 2, y[2]), odd2 = add_times(y[1], 2, y[3]);
    m[0] = y[0];
    m[1] = add_times(even, kNear, odd);
    m[2] = add_times(even, -kNear, odd);
    m[3] = add_times(even2, kFar, odd2);
    m[4] = add_times(even2, -kFar, odd2);
    m[5] = y[3];
  }
};

struct Filters {  // G g
  HWY_INLINE void operator()(const Vec (&g)[3], Vec (&u)[6]) const {
    const Vec even = times(-2.0F / 3, add_times(g[0], 0.5F, g[2]));
    const Vec even2 = times(1.0F / 6, add_times(g[0], 2, g[2]));
    u[0] = g[0];
    u[1] = add_times(even, -2.0F / 3 * kNear, g[1]);
    u[2] = add_times(even, 2.0F / 3 * kNear, g[1]);
    u[3] = add_times(even2, 1.0F / 6 * kFar, g[1]);
    u[4] = add_times(even2, -1.0F / 6 * kFar, g[1]);
    u[5] = g[2];
  }
};

struct FilterSums {  // Gᵀ u
  HWY_INLINE void operator()(const Vec (&u)[6], Vec (&g)[3]) const {
    const Vec sum = hn::Add(u[1], u[2]), sum2 = hn::Add(u[3], u[4]);
    g[0] = add_times(add_times(u[0], -2.0F / 3, sum), 1.0F / 6, sum2);
    g[1] = add_times(times(2.0F / 3 * kNear, hn::Sub(u[2], u[1])), 1.0F / 6 * kFar, hn::Sub(u[3], u[4]));
    g[2] = add_times(u[5], 1.0F / 3, hn::Sub(sum2, sum));
  }
};

// Down the columns of what load(i, j) gives, then along the rows; store(i, j, v) takes the result.
template <typename Transform, int kFrom, int kTo, typename Load, typename Store>
HWY_INLINE void both_ways(const Load& load, const Store& store) {
  const Transform transform;
  Vec half[kTo][kFrom];
#pragma GCC unroll 6
  for (int j = 0; j < kFrom; ++j) {
    Vec column[kFrom], done[kTo];
#pragma GCC unroll 6
    for (int i = 0; i < kFrom; ++i) column[i] = load(i, j);
    transform(column, done);
#pragma GCC unroll 6
    for (int i = 0; i < kTo; ++i) half[i][j] = done[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < kTo; ++i) {
    Vec done[kTo];
    transform(half[i], done);
#pragma GCC unroll 6
    for (int j = 0; j < kTo; ++j) store(i, j, done[j]);
  }
}

// Where a value of each of kSide × kSide positions is: `step` floats apart.
template <int kSide>
struct Planes {
  std::int64_t step;

  HWY_INLINE auto loader(const float* from) const {
    return [this, from](int i, int j) HWY_ATTR { return hn::LoadU(kFloats, from + (i * kSide + j) * step); };
  }
  HWY_INLINE auto storer(float* to) const {
    return [this, to](int i, int j, Vec v) HWY_ATTR { hn::StoreU(v, kFloats, to + (i * kSide + j) * step); };
  }
};

// u (position, pair) of g (tap, pair), `pairs` of an input and an output each.
void transform_filters(const float* g, std::int64_t pairs, float* u) {
  const Planes<3> taps{pairs};
  const Planes<6> positions{pairs};
  for (std::int64_t p = 0; p < pairs; p += static_cast<std::int64_t>(lanes()))
    both_ways<Filters, 3, 6>(taps.loader(g + p), positions.storer(u + p));
}

void sum_filters(const float* u, std::int64_t pairs, float* g) {
  const Planes<3> taps{pairs};
  const Planes<6> positions{pairs};
  for (std::int64_t p = 0; p < pairs; p += static_cast<std::int64_t>(lanes()))
    both_ways<FilterSums, 6, 3>(positions.loader(u + p), taps.storer(g + p));
}

// Calls body(load) with what gives the values of a tile's channels at (i, j), of `side` pixels each way from
// (y, x) of an h × w image on; zero beyond its border.
template <typename Body>
HWY_INLINE void with_tile(const float* image, std::int64_t h, std::int64_t w, std::int64_t channels,
                          std::int64_t y, std::int64_t x, std::int64_t side, const Body& body) {
  const float* from = image + (y * w + x) * channels;
  const std::int64_t row = w * channels;
  if (y >= 0 && x >= 0 && y + side <= h && x + side <= w) {
    body([=](int i, int j, std::int64_t c)
             HWY_ATTR { return hn::LoadU(kFloats, from + i * row + j * channels + c); });
  } else {
    body([=](int i, int j, std::int64_t c) HWY_ATTR {
      const bool is_inside = y + i >= 0 && y + i < h && x + j >= 0 && x + j < w;
      return is_inside ? hn::LoadU(kFloats, from + i * row + j * channels + c) : zero();
    });
  }
}

// v (position, tile, input) of the tiles [first, first + count).
void transform_inputs(const WinogradShape& s, const float* x, std::int64_t first, std::int64_t count,
                      float* v) {
  const Planes<6> positions{plane(s.c)};
  for (std::int64_t tile = 0; tile < count; ++tile, v += s.c) {
    const TilePlace place = place_of(s, first + tile);
    with_tile(x + place.image * s.h * s.w * s.c, s.h, s.w, s.c, place.y - s.padding, place.x - s.padding,
              kPoints, [&](const auto& load) HWY_ATTR {
                for (std::int64_t c = 0; c < s.c; c += static_cast<std::int64_t>(lanes())) {
                  both_ways<Inputs, 6, 6>([&](int i, int j) HWY_ATTR { return load(i, j, c); },
                                          positions.storer(v + c));
                }
              });
  }
}

// The outputs of those tiles, of m (position, tile, output).
void transform_outputs(const WinogradShape& s, const float* m, std::int64_t first, std::int64_t count,
                       const float* bias, bool with_relu, float* y) {
  const Planes<6> positions{plane(s.o)};
  const std::int64_t oh = s.oh(), ow = s.ow();
  for (std::int64_t tile = 0; tile < count; ++tile, m += s.o) {
    const TilePlace place = place_of(s, first + tile);
    float* to = y + ((place.image * oh + place.y) * ow + place.x) * s.o;
    for (std::int64_t o = 0; o < s.o; o += static_cast<std::int64_t>(lanes())) {
      const Vec start = bias == nullptr ? zero() : hn::LoadU(kFloats, bias + o);
      both_ways<Outputs, 6, 4>(positions.loader(m + o), [&](int i, int j, Vec v) HWY_ATTR {
        if (place.y + i >= oh || place.x + j >= ow) return;
        const Vec sum = hn::Add(v, start);
        hn::StoreU(with_relu ? relu(sum) : sum, kFloats, to + (i * ow + j) * s.o + o);
      });
    }
  }
}

// m (position, tile, output) of the gradients of those tiles' outputs, whose sum is added to dbias.
void transform_gradients(const WinogradShape& s, const float* dy, std::int64_t first, std::int64_t count,
                         float* m, float* dbias) {
  const Planes<6> positions{plane(s.o)};
  const std::int64_t oh = s.oh(), ow = s.ow();
  for (std::int64_t tile = 0; tile < count; ++tile, m += s.o) {
    const TilePlace place = place_of(s, first + tile);
    with_tile(dy + place.image * oh * ow * s.o, oh, ow, s.o, place.y, place.x, kTile,
              [&](const auto& load) HWY_ATTR {
                for (std::int64_t o = 0; o < s.o; o += static_cast<std::int64_t>(lanes())) {
                  Vec sum = hn::LoadU(kFloats, dbias + o);
                  both_ways<Gradients, 4, 6>(
                      [&](int i, int j) HWY_ATTR {
                        const Vec v = load(i, j, o);
                        sum = hn::Add(sum, v);
                        return v;
                      },
                      positions.storer(m + o));
                  hn::StoreU(sum, kFloats, dbias + o);
                }
              });
  }
}

constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // Of a product in registers.

template <int kVectors, bool kAdds>
HWY_INLINE void multiply_block(std::int64_t steps, const float* a, std::int64_t a_row, std::int64_t a_step,
                               const float* b, std::int64_t b_step, float* y, std::int64_t y_row) {
  const std::size_t step = lanes();
  Vec sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = kAdds ? hn::LoadU(kFloats, y + r * y_row + static_cast<std::size_t>(v) * step) : zero();
  }
  for (std::int64_t k = 0; k < steps; ++k, a += a_step, b += b_step) {
    Vec factor[kVectors];
    for (int v = 0; v < kVectors; ++v) factor[v] = hn::LoadU(kFloats, b + static_cast<std::size_t>(v) * step);
    for (int r = 0; r < kRows; ++r) {
      const Vec value = splat(a[r * a_row]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(value, factor[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], kFloats, y + r * y_row + static_cast<std::size_t>(v) * step);
  }
}

// y (rows, columns) = a · b (steps, columns), or y + that. Whole groups of rows are made.
template <bool kAdds>
HWY_INLINE void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const float* a,
                         std::int64_t a_row, std::int64_t a_step, const float* b, float* y) {
  const auto step = static_cast<std::int64_t>(lanes());
  std::int64_t column = 0;
  for (; column + 2 * step <= columns; column += 2 * step) {
    for (std::int64_t row = 0; row < rows; row += kRows)
      multiply_block<2, kAdds>(steps, a + row * a_row, a_row, a_step, b + column, columns,
                               y + row * columns + column, columns);
  }
  for (; column < columns; column += step) {
    for (std::int64_t row = 0; row < rows; row += kRows)
      multiply_block<1, kAdds>(steps, a + row * a_row, a_row, a_step, b + column, columns,
                               y + row * columns + column, columns);
  }
}

// m (tile, output) = v (tile, input) · u (input, output) at every position. What lies beyond `count` tiles is
// of no use.
void multiply_tiles(const WinogradShape& s, std::int64_t count, const float* v, const float* u, float* m,
                    const FloatRanges& ahead) {
  for (int at = 0; at < kPositions; ++at, v += plane(s.c), u += s.c * s.o, m += plane(s.o)) {
    fetch(ahead, at);
    multiply<false>(count, s.o, s.c, v, s.c, 1, u, m);
  }
}

// u (input, output) += vᵀ (input, tile) · m (tile, output) at every position.
void add_products(const WinogradShape& s, std::int64_t count, const float* v, const float* m, float* u,
                  const FloatRanges& ahead) {
  for (int at = 0; at < kPositions; ++at, v += plane(s.c), u += s.c * s.o, m += plane(s.o)) {
    fetch(ahead, at);
    multiply<true>(s.c, s.o, count, v, 1, s.c, m, u);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
