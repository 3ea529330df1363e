#include "tensor/kernels/batch_norm_rows.h"

#include "tensor/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/batch_norm_rows.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// Adds v to the doubles at `sum`.
template <typename Lane>
HWY_INLINE void add_to_doubles(Vec v, double* sum, std::size_t count, Lane lane) {
  HWY_ALIGN float values[hn::MaxLanes(kFloats)];
  lane.store(v, values);
  for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(values[i]);
}
HWY_INLINE std::size_t lane_count(Whole) { return lanes(); }
HWY_INLINE std::size_t lane_count(Part part) { return part.count; }

// For every vector of channels: adds Σ first(row) and Σ second(row) over the rows, weighted, to sums[c] and
// sums[channels + c]. pair(offset, lane) gives both terms of the vector at `offset`.
template <typename Pair>
HWY_INLINE void sum_pairs(const Rows& rows, double weight, double* sums, const Pair& pair) {
  const auto channels = static_cast<std::size_t>(rows.channels);
  for_vectors(channels, [&](std::size_t c, auto lane) HWY_ATTR {
    Vec a[4] = {zero(), zero(), zero(), zero()};
    Vec b[4] = {zero(), zero(), zero(), zero()};
    std::int64_t row = rows.begin;
    for (; row + 4 <= rows.end; row += 4) {
      for (int i = 0; i < 4; ++i)
        pair(c, static_cast<std::size_t>((row + i) * rows.channels) + c, lane, a[i], b[i]);
    }
    for (; row < rows.end; ++row)
      pair(c, static_cast<std::size_t>(row * rows.channels) + c, lane, a[0], b[0]);
    const Vec w = splat(static_cast<float>(weight));
    const Vec first = hn::Mul(w, hn::Add(hn::Add(a[0], a[1]), hn::Add(a[2], a[3])));
    const Vec second = hn::Mul(w, hn::Add(hn::Add(b[0], b[1]), hn::Add(b[2], b[3])));
    add_to_doubles(first, sums + c, lane_count(lane), lane);
    add_to_doubles(second, sums + channels + c, lane_count(lane), lane);
  });
}

// Σ w·d and Σ w·d², d = x − pivot.
void sum_moments_rows(const Rows& rows, const float* x, const float* pivot, float weight, double* sums) {
  sum_pairs(rows, weight, sums, [&](std::size_t c, std::size_t at, auto lane, Vec& a, Vec& b) HWY_ATTR {
    const Vec d = hn::Sub(lane.load(x + at), lane.load(pivot + c));
    a = hn::Add(a, d);
    b = hn::MulAdd(d, d, b);
  });
}

// Σ dy and Σ dy·(x − mean)
void sum_gradients_rows(const Rows& rows, const float* dy, const float* x, const float* mean, double* sums) {
  sum_pairs(rows, 1.0, sums, [&](std::size_t c, std::size_t at, auto lane, Vec& a, Vec& b) HWY_ATTR {
    const Vec g = lane.load(dy + at);
    a = hn::Add(a, g);
    b = hn::MulAdd(g, hn::Sub(lane.load(x + at), lane.load(mean + c)), b);
  });
}

// Calls body(c, offset, lane) for every vector of every row, channel vector by channel vector, so that what
// depends on the channel stays in registers: prepare(c, lane) gives it.
template <typename Prepare, typename Body>
HWY_INLINE void for_rows(const Rows& rows, const Prepare& prepare, const Body& body) {
  for_vectors(static_cast<std::size_t>(rows.channels), [&](std::size_t c, auto lane) HWY_ATTR {
    const auto constants = prepare(c, lane);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      body(static_cast<std::size_t>(row * rows.channels) + c, lane, constants);
    }
  });
}

struct Triple {
  Vec mean, scale, shift;
};

template <bool kRelu>
void apply_rows(const Rows& rows, const float* x, const Affine& affine, float* y) {
  for_rows(
      rows,
      [&](std::size_t c, auto lane) HWY_ATTR {
        return Triple{lane.load(affine.mean + c), lane.load(affine.scale + c), lane.load(affine.shift + c)};
      },
      [&](std::size_t at, auto lane, const Triple& k) HWY_ATTR {
        const Vec v = hn::MulAdd(hn::Sub(lane.load(x + at), k.mean), k.scale, k.shift);
        lane.store(kRelu ? relu(v) : v, y + at);
      });
}

void affine_rows(const Rows& rows, const float* x, const Affine& affine, bool with_relu, float* y) {
  with_relu ? apply_rows<true>(rows, x, affine, y) : apply_rows<false>(rows, x, affine, y);
}

// dx = dy·direct
void direct_rows(const Rows& rows, const float* dy, const float* direct, float* dx) {
  for_rows(
      rows, [&](std::size_t c, auto lane) HWY_ATTR { return lane.load(direct + c); },
      [&](std::size_t at, auto lane, Vec k)
          HWY_ATTR { lane.store(hn::Mul(lane.load(dy + at), k), dx + at); });
}

struct Quadruple {
  Vec mean, scale, shift, direct;
};

// dx = dy·direct + w·((x − mean)·scale + shift); dy and direct may be null together.
template <bool kDirect>
void statistics_dx(const Rows& rows, const float* dy, const float* x, const float* direct,
                   const Affine& affine, float weight, float* dx) {
  const Vec w = splat(weight);
  for_rows(
      rows,
      [&](std::size_t c, auto lane) HWY_ATTR {
        return Quadruple{lane.load(affine.mean + c), hn::Mul(w, lane.load(affine.scale + c)),
                         hn::Mul(w, lane.load(affine.shift + c)), kDirect ? lane.load(direct + c) : zero()};
      },
      [&](std::size_t at, auto lane, const Quadruple& k) HWY_ATTR {
        const Vec v = hn::MulAdd(hn::Sub(lane.load(x + at), k.mean), k.scale, k.shift);
        lane.store(kDirect ? hn::MulAdd(lane.load(dy + at), k.direct, v) : v, dx + at);
      });
}

void full_dx_rows(const Rows& rows, const float* dy, const float* x, const float* direct,
                  const Affine& affine, float weight, float* dx) {
  statistics_dx<true>(rows, dy, x, direct, affine, weight, dx);
}

void stats_dx_rows(const Rows& rows, const float* x, const Affine& affine, float weight, float* dx) {
  statistics_dx<false>(rows, nullptr, x, nullptr, affine, weight, dx);
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {

HWY_EXPORT(sum_moments_rows);
HWY_EXPORT(sum_gradients_rows);
HWY_EXPORT(affine_rows);
HWY_EXPORT(direct_rows);
HWY_EXPORT(stats_dx_rows);
HWY_EXPORT(full_dx_rows);

void sum_moments(const Rows& rows, const float* x, const float* pivot, float weight, double* sums) {
  HWY_DYNAMIC_DISPATCH(sum_moments_rows)(rows, x, pivot, weight, sums);
}

void sum_gradients(const Rows& rows, const float* dy, const float* x, const float* mean, double* sums) {
  HWY_DYNAMIC_DISPATCH(sum_gradients_rows)(rows, dy, x, mean, sums);
}

void apply_affine(const Rows& rows, const float* x, const Affine& affine, bool relu, float* y) {
  HWY_DYNAMIC_DISPATCH(affine_rows)(rows, x, affine, relu, y);
}

void apply_direct(const Rows& rows, const float* dy, const float* direct, float* dx) {
  HWY_DYNAMIC_DISPATCH(direct_rows)(rows, dy, direct, dx);
}

void apply_stats_dx(const Rows& rows, const float* x, const Affine& affine, float weight, float* dx) {
  HWY_DYNAMIC_DISPATCH(stats_dx_rows)(rows, x, affine, weight, dx);
}

void apply_dx(const Rows& rows, const float* dy, const float* x, const float* direct, const Affine& affine,
              float weight, float* dx) {
  HWY_DYNAMIC_DISPATCH(full_dx_rows)(rows, dy, x, direct, affine, weight, dx);
}

}  // namespace hocket::kernel
#endif
