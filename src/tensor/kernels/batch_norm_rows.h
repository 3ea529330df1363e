#pragma once

#include <cstdint>

// The vector loops of batch norm, over rows of channels: an image with channels last is n·spatial rows.
namespace hocket::kernel {

// Rows [begin, end) of `channels` floats that all have one weight, few enough to stay in the L1 cache.
struct Rows {
  std::int64_t begin, end, channels;
};

// Per channel: affine(x) = (x − mean)·scale + shift.
struct Affine {
  float *mean, *scale, *shift;
};

// Adds Σ w·d to sums[c] and Σ w·d² to sums[channels + c], with d = x − pivot.
void sum_moments(const Rows& rows, const float* x, const float* pivot, float weight, double* sums);

// Adds Σ g to sums[c] and Σ g·(x − mean) to sums[channels + c]. g is dy or, with `masked`, dy where affine(x)
// > 0 and 0 elsewhere.
void sum_gradients(const Rows& rows, const float* dy, const float* x, const Affine& affine, bool masked,
                   double* sums);

// y = affine(x) + residual, or its positive part. `residual` may be null.
void apply_affine(const Rows& rows, const float* x, const Affine& affine, const float* residual, bool relu,
                  float* y);

// dx = dy·direct
void apply_direct(const Rows& rows, const float* dy, const float* direct, float* dx);

// dx = weight·affine(x)
void apply_stats_dx(const Rows& rows, const float* x, const Affine& affine, float weight, float* dx);

// dx = g·direct + weight·affine(x). g is dy or, where `beta` is not null, dy where (x − mean)·direct + beta >
// 0 and 0 elsewhere.
void apply_dx(const Rows& rows, const float* dy, const float* x, const float* direct, const float* beta,
              const Affine& affine, float weight, float* dx);

}  // namespace hocket::kernel
