#include "tensor/reference/normalisation.h"

#include <algorithm>
#include <cmath>

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

// What the statistics of a batch say of one channel. A batch without weight has mean and variance 0.
struct Moments {
  Moments(const BatchNormSpec& spec, const double* stats, std::int64_t c) : weight(stats[2 * spec.c + c]) {
    if (weight <= 0) return;
    mean = stats[c] / weight;
    variance = std::max(stats[spec.c + c] / weight - mean * mean, 0.0);
  }

  double weight;
  double mean = 0;
  double variance = 0;
};

double reciprocal_deviation(double variance, double eps) { return 1 / std::sqrt(variance + eps); }

// Calls `body(n, c, i)` for every element, i being where it lies; channel by channel.
template <typename Body>
void for_each_element(const BatchNormSpec& spec, Body body) {
  const ImageIndex at{spec.c, spec.spatial, 1, spec.layout};
  for (std::int64_t c = 0; c < spec.c; ++c) {
    for (std::int64_t n = 0; n < spec.n; ++n) {
      for (std::int64_t s = 0; s < spec.spatial; ++s) body(n, c, at(n, c, s, 0));
    }
  }
}

double activate(double value, Activation activation) {
  return activation == Activation::relu ? std::max(value, 0.0) : value;
}

// The operands (dy, x, stats, gamma) of a gradient, and beta where a relu is folded in.
template <typename T>
struct Backward {
  // dy, or 0 where the relu was not passed.
  double gradient(const BatchNormSpec& spec, std::int64_t c, std::int64_t i) const {
    if (beta == nullptr) return dy[i];
    const Moments moments(spec, stats, c);
    const double r = reciprocal_deviation(moments.variance, spec.eps);
    return gamma[c] * (x[i] - moments.mean) * r + beta[c] > 0 ? dy[i] : 0;
  }

  const T *dy, *x;
  const double* stats;
  const T *gamma, *beta;
};

template <typename T>
Backward<T> backward_operands(const BatchNormSpec& spec, Buffers in, std::size_t beta) {
  return {operand<T>(in, 0), operand<T>(in, 1), operand<double>(in, 2), operand<T>(in, 3),
          spec.activation == Activation::relu ? operand<T>(in, beta) : nullptr};
}

// The part of dx that does not pass through the statistics, and the one that does.
template <typename T>
double direct_dx(const BatchNormSpec& spec, const Backward<T>& back, std::int64_t c, std::int64_t i) {
  const double r = reciprocal_deviation(Moments(spec, back.stats, c).variance, spec.eps);
  return back.gradient(spec, c, i) * back.gamma[c] * r;
}

template <typename T>
double stats_dx(const BatchNormSpec& spec, const double* dstats, const T* x, const float* weight,
                std::int64_t n, std::int64_t c, std::int64_t i) {
  return weight[n] * (dstats[c] + 2 * x[i] * dstats[spec.c + c]);
}

// With Σdy and Σdy·x̂ of each channel: dγ = Σdy·x̂, dβ = Σdy, and the chain through μ = S₁/W and σ² = S₂/W −
// μ². The weights are not trained: the last row of dstats is 0.
template <typename T>
void apply_grad(const BatchNormSpec& spec, Buffers in, Buffers out) {
  const Backward<T> back = backward_operands<T>(spec, in, 4);
  const double* stats = back.stats;
  const T* gamma = back.gamma;
  double* dstats = operand<double>(out, 2);
  std::fill_n(dstats, 3 * spec.c, 0.0);
  for_each_element(spec, [&](std::int64_t, std::int64_t c, std::int64_t i) {
    const double dy = back.gradient(spec, c, i);
    dstats[c] += dy;
    dstats[spec.c + c] += dy * (back.x[i] - Moments(spec, stats, c).mean);
  });
  for (std::int64_t c = 0; c < spec.c; ++c) {
    const Moments moments(spec, stats, c);
    const double r = reciprocal_deviation(moments.variance, spec.eps);
    const double sum = dstats[c];
    const double sum_normalised = dstats[spec.c + c] * r;
    operand<T>(out, 0)[c] = static_cast<T>(sum_normalised);
    operand<T>(out, 1)[c] = static_cast<T>(sum);
    const double dvariance = -0.5 * gamma[c] * sum_normalised * r * r;
    const double dmean = -gamma[c] * sum * r - 2 * moments.mean * dvariance;
    dstats[c] = moments.weight > 0 ? dmean / moments.weight : 0;
    dstats[spec.c + c] = moments.weight > 0 ? dvariance / moments.weight : 0;
  }
}

template <typename T>
void layer_norm_row(const RowsSpec& spec, const T* x, const T* gamma, const T* beta, T* y, T* mean, T* rstd) {
  const auto width = static_cast<double>(spec.width);
  double sum = 0;
  for (std::int64_t j = 0; j < spec.width; ++j) sum += x[j];
  double squares = 0;
  for (std::int64_t j = 0; j < spec.width; ++j) squares += (x[j] - sum / width) * (x[j] - sum / width);
  const double r = reciprocal_deviation(squares / width, spec.eps);
  for (std::int64_t j = 0; j < spec.width; ++j)
    y[j] = static_cast<T>(gamma[j] * (x[j] - sum / width) * r + beta[j]);
  *mean = static_cast<T>(sum / width);
  *rstd = static_cast<T>(r);
}

// dx = r·(g − mean(g) − x̂·mean(g·x̂)) with g = dy·γ
template <typename T>
void layer_norm_row_dx(const RowsSpec& spec, const T* dy, const T* x, double mean, double r, const T* gamma,
                       T* dx) {
  const auto width = static_cast<double>(spec.width);
  double sum = 0;
  double sum_normalised = 0;
  for (std::int64_t j = 0; j < spec.width; ++j) {
    sum += static_cast<double>(dy[j]) * gamma[j];
    sum_normalised += static_cast<double>(dy[j]) * gamma[j] * (x[j] - mean) * r;
  }
  for (std::int64_t j = 0; j < spec.width; ++j) {
    const double normalised = (x[j] - mean) * r;
    const double g = static_cast<double>(dy[j]) * gamma[j];
    dx[j] = static_cast<T>(r * (g - sum / width - normalised * sum_normalised / width));
  }
}

}  // namespace

std::unique_ptr<Kernel> make_bn_stats(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const float* weight = operand<float>(in, 1);
    double* stats = operand<double>(out, 0);
    std::fill_n(stats, 3 * spec.c, 0.0);
    for_each_element(spec, [&](std::int64_t n, std::int64_t c, std::int64_t i) {
      const double x = operand<T>(in, 0)[i];
      stats[c] += weight[n] * x;
      stats[spec.c + c] += weight[n] * x * x;
      stats[2 * spec.c + c] += weight[n];
    });
  });
}

std::unique_ptr<Kernel> make_bn_apply(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const T* gamma = operand<T>(in, 2);
    const T* beta = operand<T>(in, 3);
    for_each_element(spec, [&](std::int64_t, std::int64_t c, std::int64_t i) {
      const Moments moments(spec, operand<double>(in, 1), c);
      const double r = reciprocal_deviation(moments.variance, spec.eps);
      const double y = gamma[c] * (operand<T>(in, 0)[i] - moments.mean) * r + beta[c];
      const double residual = spec.has_residual ? operand<T>(in, 4)[i] : 0;
      operand<T>(out, 0)[i] = static_cast<T>(activate(y + residual, spec.activation));
    });
  });
}

std::unique_ptr<Kernel> make_bn_apply_grad(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype,
                           [spec]<typename T>(T, Buffers in, Buffers out) { apply_grad<T>(spec, in, out); });
}

std::unique_ptr<Kernel> make_bn_apply_dx(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    BatchNormSpec plain = spec;
    plain.activation = Activation::none;
    const Backward<T> back = backward_operands<T>(plain, in, 0);
    for_each_element(spec, [&](std::int64_t, std::int64_t c, std::int64_t i) {
      operand<T>(out, 0)[i] = static_cast<T>(direct_dx(spec, back, c, i));
    });
  });
}

std::unique_ptr<Kernel> make_bn_stats_dx(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for_each_element(spec, [&](std::int64_t n, std::int64_t c, std::int64_t i) {
      operand<T>(out, 0)[i] = static_cast<T>(
          stats_dx(spec, operand<double>(in, 0), operand<T>(in, 1), operand<float>(in, 2), n, c, i));
    });
  });
}

std::unique_ptr<Kernel> make_bn_dx(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const Backward<T> back = backward_operands<T>(spec, in, 6);
    for_each_element(spec, [&](std::int64_t n, std::int64_t c, std::int64_t i) {
      operand<T>(out, 0)[i] = static_cast<T>(
          direct_dx(spec, back, c, i) +
          stats_dx(spec, operand<double>(in, 4), operand<T>(in, 1), operand<float>(in, 5), n, c, i));
    });
  });
}

std::unique_ptr<Kernel> make_bn_running(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers) {
    T* mean = operand<T>(in, 1);
    T* variance = operand<T>(in, 2);
    for (std::int64_t c = 0; c < spec.c; ++c) {
      const Moments batch(spec, operand<double>(in, 0), c);
      if (batch.weight <= 0) return;
      const double unbiased =
          batch.weight > 1 ? batch.variance * batch.weight / (batch.weight - 1) : batch.variance;
      mean[c] = static_cast<T>((1 - spec.momentum) * mean[c] + spec.momentum * batch.mean);
      variance[c] = static_cast<T>((1 - spec.momentum) * variance[c] + spec.momentum * unbiased);
    }
  });
}

std::unique_ptr<Kernel> make_bn_inference(const BatchNormSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for_each_element(spec, [&](std::int64_t, std::int64_t c, std::int64_t i) {
      const double r = reciprocal_deviation(operand<T>(in, 2)[c], spec.eps);
      const double centred = static_cast<double>(operand<T>(in, 0)[i]) - operand<T>(in, 1)[c];
      const double y = operand<T>(in, 3)[c] * centred * r + operand<T>(in, 4)[c];
      const double residual = spec.has_residual ? operand<T>(in, 5)[i] : 0;
      operand<T>(out, 0)[i] = static_cast<T>(activate(y + residual, spec.activation));
    });
  });
}

std::unique_ptr<Kernel> make_layer_norm(const RowsSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      layer_norm_row(spec, operand<T>(in, 0) + i * spec.width, operand<T>(in, 1), operand<T>(in, 2),
                     operand<T>(out, 0) + i * spec.width, operand<T>(out, 1) + i, operand<T>(out, 2) + i);
    }
  });
}

std::unique_ptr<Kernel> make_layer_norm_grad(const RowsSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const T* dy = operand<T>(in, 0);
    const T* x = operand<T>(in, 1);
    const T* mean = operand<T>(in, 2);
    const T* rstd = operand<T>(in, 3);
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      layer_norm_row_dx(spec, dy + i * spec.width, x + i * spec.width, mean[i], rstd[i], operand<T>(in, 4),
                        operand<T>(out, 0) + i * spec.width);
    }
    for (std::int64_t j = 0; j < spec.width; ++j) {
      double dgamma = 0;
      double dbeta = 0;
      for (std::int64_t i = 0; i < spec.rows; ++i) {
        const double g = dy[i * spec.width + j];
        dgamma += g * (static_cast<double>(x[i * spec.width + j]) - mean[i]) * rstd[i];
        dbeta += g;
      }
      operand<T>(out, 1)[j] = static_cast<T>(dgamma);
      operand<T>(out, 2)[j] = static_cast<T>(dbeta);
    }
  });
}

}  // namespace hocket::reference
