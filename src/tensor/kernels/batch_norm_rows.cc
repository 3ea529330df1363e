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

// Adds Σ first and Σ second of the rows, weighted, to sums[c] and sums[channels + c] for kVectors vectors of
// channels from c on. pair(c, offset, lane, a, b) adds both terms of the vector at `offset` to a and b. kRows
// rows are summed apart.
template <int kVectors, int kRows, typename Lane, typename Pair>
HWY_INLINE void sum_columns(const Rows& rows, std::size_t c, Lane lane, double weight, double* sums,
                            const Pair& pair) {
  constexpr int kSums = kVectors * kRows;
  Vec a[kSums], b[kSums];
  for (int i = 0; i < kSums; ++i) a[i] = b[i] = zero();
  const auto add_row = [&](std::int64_t row, int apart) HWY_ATTR {
    for (int v = 0; v < kVectors; ++v) {
      const std::size_t at = c + static_cast<std::size_t>(v) * lanes();
      const int i = apart * kVectors + v;
      pair(at, static_cast<std::size_t>(row * rows.channels) + at, lane, a[i], b[i]);
    }
  };
  std::int64_t row = rows.begin;
  for (; row + kRows <= rows.end; row += kRows) {
    for (int i = 0; i < kRows; ++i) add_row(row + i, i);
  }
  for (; row < rows.end; ++row) add_row(row, 0);
  const Vec w = splat(static_cast<float>(weight));
  for (int v = 0; v < kVectors; ++v) {
    for (int i = kVectors; i < kSums; i += kVectors) {
      a[v] = hn::Add(a[v], a[v + i]);
      b[v] = hn::Add(b[v], b[v + i]);
    }
    double* to = sums + c + static_cast<std::size_t>(v) * lanes();
    add_to_doubles(hn::Mul(w, a[v]), to, lane_count(lane), lane);
    add_to_doubles(hn::Mul(w, b[v]), to + rows.channels, lane_count(lane), lane);
  }
}

// All channels: several vectors at a time where a row has them, so that memory is read in its order.
template <typename Pair>
HWY_INLINE void sum_pairs(const Rows& rows, double weight, double* sums, const Pair& pair) {
  const auto channels = static_cast<std::size_t>(rows.channels);
  const std::size_t step = lanes();
  std::size_t c = 0;
  for (; c + 4 * step <= channels; c += 4 * step) sum_columns<4, 1>(rows, c, Whole{}, weight, sums, pair);
  for (; c + 2 * step <= channels; c += 2 * step) sum_columns<2, 2>(rows, c, Whole{}, weight, sums, pair);
  for (; c + step <= channels; c += step) sum_columns<1, 4>(rows, c, Whole{}, weight, sums, pair);
  if (c < channels) sum_columns<1, 4>(rows, c, Part{channels - c}, weight, sums, pair);
}

// Σ w·d and Σ w·d², d = x − pivot.
void sum_moments_rows(const Rows& rows, const float* x, const float* pivot, float weight, double* sums) {
  sum_pairs(rows, weight, sums, [&](std::size_t c, std::size_t at, auto lane, Vec& a, Vec& b) HWY_ATTR {
    const Vec d = hn::Sub(lane.load(x + at), lane.load(pivot + c));
    a = hn::Add(a, d);
    b = hn::MulAdd(d, d, b);
  });
}

template <bool kMasked>
void sum_gradients_of(const Rows& rows, const float* dy, const float* x, const Affine& k, double* sums) {
  sum_pairs(rows, 1.0, sums, [&](std::size_t c, std::size_t at, auto lane, Vec& a, Vec& b) HWY_ATTR {
    const Vec centred = hn::Sub(lane.load(x + at), lane.load(k.mean + c));
    Vec g = lane.load(dy + at);
    if constexpr (kMasked) {
      const Vec y = hn::MulAdd(centred, lane.load(k.scale + c), lane.load(k.shift + c));
      g = hn::IfThenElseZero(hn::Gt(y, zero()), g);
    }
    a = hn::Add(a, g);
    b = hn::MulAdd(g, centred, b);
  });
}

void sum_gradients_rows(const Rows& rows, const float* dy, const float* x, const Affine& k, bool masked,
                        double* sums) {
  masked ? sum_gradients_of<true>(rows, dy, x, k, sums) : sum_gradients_of<false>(rows, dy, x, k, sums);
}

// Calls body(offset, lane, prepare(c, lane)) for kVectors vectors of channels from c on, of every row. What
// depends on the channel stays in registers.
template <int kVectors, typename Lane, typename Prepare, typename Body>
HWY_INLINE void for_columns(const Rows& rows, std::size_t c, Lane lane, const Prepare& prepare,
                            const Body& body) {
  decltype(prepare(c, lane)) constants[kVectors];
  for (int v = 0; v < kVectors; ++v) constants[v] = prepare(c + static_cast<std::size_t>(v) * lanes(), lane);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::size_t at = static_cast<std::size_t>(row * rows.channels) + c;
    for (int v = 0; v < kVectors; ++v) body(at + static_cast<std::size_t>(v) * lanes(), lane, constants[v]);
  }
}

// All channels, as sum_pairs goes over them.
template <typename Prepare, typename Body>
HWY_INLINE void for_rows(const Rows& rows, const Prepare& prepare, const Body& body) {
  const auto channels = static_cast<std::size_t>(rows.channels);
  const std::size_t step = lanes();
  std::size_t c = 0;
  for (; c + 4 * step <= channels; c += 4 * step) for_columns<4>(rows, c, Whole{}, prepare, body);
  for (; c + 2 * step <= channels; c += 2 * step) for_columns<2>(rows, c, Whole{}, prepare, body);
  for (; c + step <= channels; c += step) for_columns<1>(rows, c, Whole{}, prepare, body);
  if (c < channels) for_columns<1>(rows, c, Part{channels - c}, prepare, body);
}

struct Triple {
  HWY_INLINE Vec operator()(Vec x) const { return hn::MulAdd(hn::Sub(x, mean), scale, shift); }

  Vec mean, scale, shift;
};

template <typename Lane>
HWY_INLINE Triple triple_at(const Affine& k, std::size_t c, Lane lane) {
  return {lane.load(k.mean + c), lane.load(k.scale + c), lane.load(k.shift + c)};
}

template <bool kResidual, bool kRelu>
void apply_rows(const Rows& rows, const float* x, const Affine& affine, const float* residual, float* y) {
  for_rows(
      rows, [&](std::size_t c, auto lane) HWY_ATTR { return triple_at(affine, c, lane); },
      [&](std::size_t at, auto lane, const Triple& k) HWY_ATTR {
        Vec v = k(lane.load(x + at));
        if constexpr (kResidual) v = hn::Add(v, lane.load(residual + at));
        lane.store(kRelu ? relu(v) : v, y + at);
      });
}

void affine_rows(const Rows& rows, const float* x, const Affine& affine, const float* residual,
                 bool with_relu, float* y) {
  if (residual == nullptr) {
    with_relu ? apply_rows<false, true>(rows, x, affine, residual, y)
              : apply_rows<false, false>(rows, x, affine, residual, y);
  } else {
    with_relu ? apply_rows<true, true>(rows, x, affine, residual, y)
              : apply_rows<true, false>(rows, x, affine, residual, y);
  }
}

void direct_rows(const Rows& rows, const float* dy, const float* direct, float* dx) {
  for_rows(
      rows, [&](std::size_t c, auto lane) HWY_ATTR { return lane.load(direct + c); },
      [&](std::size_t at, auto lane, Vec k)
          HWY_ATTR { lane.store(hn::Mul(lane.load(dy + at), k), dx + at); });
}

void stats_dx_rows(const Rows& rows, const float* x, const Affine& affine, float weight, float* dx) {
  const Vec w = splat(weight);
  for_rows(
      rows, [&](std::size_t c, auto lane) HWY_ATTR { return triple_at(affine, c, lane); },
      [&](std::size_t at, auto lane, const Triple& k)
          HWY_ATTR { lane.store(hn::Mul(w, k(lane.load(x + at))), dx + at); });
}

// Of bn_dx: `through` is what passes through the statistics, with the weight of the sample.
struct Slopes {
  Triple through;
  Vec direct, beta;
};

template <bool kMasked>
void full_dx(const Rows& rows, const float* dy, const float* x, const float* direct, const float* beta,
             const Affine& affine, float weight, float* dx) {
  const Vec w = splat(weight);
  for_rows(
      rows,
      [&](std::size_t c, auto lane) HWY_ATTR {
        Triple k = triple_at(affine, c, lane);
        k.scale = hn::Mul(w, k.scale);
        k.shift = hn::Mul(w, k.shift);
        return Slopes{k, lane.load(direct + c), kMasked ? lane.load(beta + c) : zero()};
      },
      [&](std::size_t at, auto lane, const Slopes& k) HWY_ATTR {
        const Vec v = lane.load(x + at);
        Vec g = lane.load(dy + at);
        if constexpr (kMasked) {
          const Vec y = hn::MulAdd(hn::Sub(v, k.through.mean), k.direct, k.beta);
          g = hn::IfThenElseZero(hn::Gt(y, zero()), g);
        }
        lane.store(hn::MulAdd(g, k.direct, k.through(v)), dx + at);
      });
}

void full_dx_rows(const Rows& rows, const float* dy, const float* x, const float* direct, const float* beta,
                  const Affine& affine, float weight, float* dx) {
  beta == nullptr ? full_dx<false>(rows, dy, x, direct, beta, affine, weight, dx)
                  : full_dx<true>(rows, dy, x, direct, beta, affine, weight, dx);
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

void sum_gradients(const Rows& rows, const float* dy, const float* x, const Affine& affine, bool masked,
                   double* sums) {
  HWY_DYNAMIC_DISPATCH(sum_gradients_rows)(rows, dy, x, affine, masked, sums);
}

void apply_affine(const Rows& rows, const float* x, const Affine& affine, const float* residual, bool relu,
                  float* y) {
  HWY_DYNAMIC_DISPATCH(affine_rows)(rows, x, affine, residual, relu, y);
}

void apply_direct(const Rows& rows, const float* dy, const float* direct, float* dx) {
  HWY_DYNAMIC_DISPATCH(direct_rows)(rows, dy, direct, dx);
}

void apply_stats_dx(const Rows& rows, const float* x, const Affine& affine, float weight, float* dx) {
  HWY_DYNAMIC_DISPATCH(stats_dx_rows)(rows, x, affine, weight, dx);
}

void apply_dx(const Rows& rows, const float* dy, const float* x, const float* direct, const float* beta,
              const Affine& affine, float weight, float* dx) {
  HWY_DYNAMIC_DISPATCH(full_dx_rows)(rows, dy, x, direct, beta, affine, weight, dx);
}

}  // namespace hocket::kernel
#endif
