#include "tensor/reference/loss.h"

#include <algorithm>
#include <cmath>

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

template <typename T>
std::int64_t first_maximum(const T* row, std::int64_t width) {
  return std::max_element(row, row + width) - row;
}

template <typename T>
double log_sum_exp(const T* row, std::int64_t width) {
  const double highest = row[first_maximum(row, width)];
  double sum = 0;
  for (std::int64_t j = 0; j < width; ++j) sum += std::exp(row[j] - highest);
  return highest + std::log(sum);
}

// The weight of row `row`: its sample's, shared among the sample's rows.
double row_weight(const LossSpec& spec, const float* weight, std::int64_t row) {
  const std::int64_t rows_per_sample = spec.rows / spec.samples;
  return static_cast<double>(weight[row / rows_per_sample]) / static_cast<double>(rows_per_sample);
}

bool is_class(std::int32_t label, std::int64_t width) { return label >= 0 && label < width; }

// A loss of one prediction x with target t, and its derivative by x.
struct SigmoidCrossEntropy {
  static double value(double x, double t) {
    return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::fabs(x)));
  }
  static double slope(double x, double t) { return 1 / (1 + std::exp(-x)) - t; }
};
struct Hinge {
  static double value(double x, double t) { return std::max(0.0, 1 - (2 * t - 1) * x); }
  static double slope(double x, double t) { return 1 - (2 * t - 1) * x > 0 ? -(2 * t - 1) : 0; }
};
struct SquaredError {
  static double value(double x, double t) { return 0.5 * (x - t) * (x - t); }
  static double slope(double x, double t) { return x - t; }
};

// loss = Σ weight · mean over the row of Loss::value
template <typename Loss>
std::unique_ptr<Kernel> make_loss(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const T* x = operand<T>(in, 0);
    const T* label = operand<T>(in, 1);
    double loss = 0;
    for (std::int64_t i = 0; i < spec.rows * spec.width; ++i) {
      const double weight = row_weight(spec, operand<float>(in, 2), i / spec.width);
      if (weight != 0) loss += weight * Loss::value(x[i], label[i]) / static_cast<double>(spec.width);
    }
    *operand<T>(out, 0) = static_cast<T>(loss);
  });
}

template <typename Loss>
std::unique_ptr<Kernel> make_loss_grad(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const double dloss = *operand<T>(in, 0);
    const T* x = operand<T>(in, 1);
    const T* label = operand<T>(in, 2);
    for (std::int64_t i = 0; i < spec.rows * spec.width; ++i) {
      const double weight = row_weight(spec, operand<float>(in, 3), i / spec.width);
      const double slope = weight != 0 ? weight * Loss::slope(x[i], label[i]) : 0;
      operand<T>(out, 0)[i] = static_cast<T>(dloss * slope / static_cast<double>(spec.width));
    }
  });
}

template <typename T, typename Label>
double count_correct(const LossSpec& spec, const T* x, const Label* label, const float* weight) {
  const std::int64_t rows_per_sample = spec.rows / spec.samples;
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < spec.rows; ++i) {
    if (!(weight[i / rows_per_sample] > 0)) continue;
    if (spec.width == 1) {
      correct += (x[i] > 0) == (to_double(label[i]) > 0.5) ? 1 : 0;
    } else {
      correct += first_maximum(x + i * spec.width, spec.width) == static_cast<std::int64_t>(label[i]) ? 1 : 0;
    }
  }
  return static_cast<double>(correct) / static_cast<double>(rows_per_sample);
}

// The kernel that runs `body(x row, y row)` for each row.
template <typename Body>
std::unique_ptr<Kernel> make_rows_kernel(const RowsSpec& spec, Body body) {
  return make_float_kernel(spec.dtype, [spec, body]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      body(spec.width, operand<T>(in, 0) + i * spec.width, operand<T>(out, 0) + i * spec.width);
    }
  });
}

// The kernel that runs `body(dy row, y row, dx row)` for each row.
template <typename Body>
std::unique_ptr<Kernel> make_rows_grad_kernel(const RowsSpec& spec, Body body) {
  return make_float_kernel(spec.dtype, [spec, body]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.rows * spec.width; i += spec.width) {
      body(spec.width, operand<T>(in, 0) + i, operand<T>(in, 1) + i, operand<T>(out, 0) + i);
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> make_softmax(const RowsSpec& spec) {
  return make_rows_kernel(spec, []<typename T>(std::int64_t width, const T* x, T* y) {
    const double total = log_sum_exp(x, width);
    for (std::int64_t j = 0; j < width; ++j) y[j] = static_cast<T>(std::exp(x[j] - total));
  });
}

std::unique_ptr<Kernel> make_log_softmax(const RowsSpec& spec) {
  return make_rows_kernel(spec, []<typename T>(std::int64_t width, const T* x, T* y) {
    const double total = log_sum_exp(x, width);
    for (std::int64_t j = 0; j < width; ++j) y[j] = static_cast<T>(x[j] - total);
  });
}

std::unique_ptr<Kernel> make_softmax_grad(const RowsSpec& spec) {
  return make_rows_grad_kernel(spec, []<typename T>(std::int64_t width, const T* dy, const T* y, T* dx) {
    double dot = 0;
    for (std::int64_t j = 0; j < width; ++j) dot += static_cast<double>(dy[j]) * y[j];
    for (std::int64_t j = 0; j < width; ++j) dx[j] = static_cast<T>(y[j] * (dy[j] - dot));
  });
}

std::unique_ptr<Kernel> make_log_softmax_grad(const RowsSpec& spec) {
  return make_rows_grad_kernel(spec, []<typename T>(std::int64_t width, const T* dy, const T* y, T* dx) {
    double sum = 0;
    for (std::int64_t j = 0; j < width; ++j) sum += dy[j];
    for (std::int64_t j = 0; j < width; ++j)
      dx[j] = static_cast<T>(dy[j] - std::exp(static_cast<double>(y[j])) * sum);
  });
}

std::unique_ptr<Kernel> make_argmax(const RowsSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      const std::int64_t best = first_maximum(operand<T>(in, 0) + i * spec.width, spec.width);
      operand<std::int32_t>(out, 0)[i] = static_cast<std::int32_t>(best);
    }
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const std::int32_t* label = operand<std::int32_t>(in, 1);
    double loss = 0;
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      const T* x = operand<T>(in, 0) + i * spec.width;
      T* probs = operand<T>(out, 1) + i * spec.width;
      const double total = log_sum_exp(x, spec.width);
      for (std::int64_t j = 0; j < spec.width; ++j) probs[j] = static_cast<T>(std::exp(x[j] - total));
      const double weight = row_weight(spec, operand<float>(in, 2), i);
      if (weight != 0 && is_class(label[i], spec.width)) loss += weight * (total - x[label[i]]);
    }
    *operand<T>(out, 0) = static_cast<T>(loss);
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const double dloss = *operand<T>(in, 0);
    const std::int32_t* label = operand<std::int32_t>(in, 2);
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      const bool counts = is_class(label[i], spec.classes());
      const double factor = counts ? dloss * row_weight(spec, operand<float>(in, 3), i) : 0;
      for (std::int64_t j = 0; j < spec.width; ++j) {
        const double p = operand<T>(in, 1)[i * spec.width + j];
        operand<T>(out, 0)[i * spec.width + j] =
            factor != 0 ? static_cast<T>(factor * (p - (j == label[i] - spec.first() ? 1 : 0))) : 0;
      }
    }
  });
}

std::unique_ptr<Kernel> make_exp_sum(const RowsSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      const double highest = operand<T>(in, 1)[i];
      double sum = 0;
      for (std::int64_t j = i * spec.width; j < (i + 1) * spec.width; ++j) {
        const double e = std::exp(operand<T>(in, 0)[j] - highest);
        operand<T>(out, 0)[j] = static_cast<T>(e);
        sum += e;
      }
      operand<T>(out, 1)[i] = static_cast<T>(sum);
    }
  });
}

std::unique_ptr<Kernel> make_pick(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      const std::int64_t column = operand<std::int32_t>(in, 1)[i] - spec.first();
      const bool is_here = column >= 0 && column < spec.width;
      operand<T>(out, 0)[i] = is_here ? operand<T>(in, 0)[i * spec.width + column] : T{0};
    }
  });
}

std::unique_ptr<Kernel> make_split_cross_entropy(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const std::int32_t* label = operand<std::int32_t>(in, 3);
    double loss = 0;
    for (std::int64_t i = 0; i < spec.rows; ++i) {
      const double weight = row_weight(spec, operand<float>(in, 4), i);
      if (weight == 0 || !is_class(label[i], spec.width)) continue;
      const double distance = static_cast<double>(operand<T>(in, 0)[i]) - operand<T>(in, 2)[i];
      loss += weight * (std::log(static_cast<double>(operand<T>(in, 1)[i])) + distance);
    }
    *operand<T>(out, 0) = static_cast<T>(loss);
  });
}

std::unique_ptr<Kernel> make_sigmoid_cross_entropy(const LossSpec& spec) {
  return make_loss<SigmoidCrossEntropy>(spec);
}
std::unique_ptr<Kernel> make_sigmoid_cross_entropy_grad(const LossSpec& spec) {
  return make_loss_grad<SigmoidCrossEntropy>(spec);
}
std::unique_ptr<Kernel> make_hinge(const LossSpec& spec) { return make_loss<Hinge>(spec); }
std::unique_ptr<Kernel> make_hinge_grad(const LossSpec& spec) { return make_loss_grad<Hinge>(spec); }
std::unique_ptr<Kernel> make_squared_error(const LossSpec& spec) { return make_loss<SquaredError>(spec); }
std::unique_ptr<Kernel> make_squared_error_grad(const LossSpec& spec) {
  return make_loss_grad<SquaredError>(spec);
}

std::unique_ptr<Kernel> make_count_correct(const LossSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const T* x = operand<T>(in, 0);
    const float* weight = operand<float>(in, 2);
    const double count = spec.label_dtype == DType::i32
                             ? count_correct(spec, x, operand<std::int32_t>(in, 1), weight)
                             : count_correct(spec, x, operand<T>(in, 1), weight);
    *operand<T>(out, 0) = static_cast<T>(count);
  });
}

}  // namespace hocket::reference
