#include <algorithm>
#include <cmath>

#include "tensor/kernels/loss.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/softmax.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

void softmax_rows(const float* x, float* y, std::int64_t rows, std::size_t width) {
  for (; rows > 0; --rows, x += width, y += width) {
    const float sum = exp_row(x, y, width, max_of_row(x, width), 1.0F);
    scale_row(y, width, 1.0F / sum);
  }
}

void log_softmax_rows(const float* x, float* y, std::int64_t rows, std::size_t width) {
  for (; rows > 0; --rows, x += width, y += width) {
    const float highest = max_of_row(x, width);
    const Vec total = splat(highest + std::log(sum_of_exp(x, width, highest)));
    for_vectors(width, [&](std::size_t i, auto lane)
                           HWY_ATTR { lane.store(hn::Sub(lane.load(x + i), total), y + i); });
  }
}

void softmax_grad_rows(const float* dy, const float* y, float* dx, std::int64_t rows, std::size_t width) {
  for (; rows > 0; --rows, dy += width, y += width, dx += width) softmax_grad_row(dy, y, dx, width, 1.0F);
}

void log_softmax_grad_rows(const float* dy, const float* y, float* dx, std::int64_t rows, std::size_t width) {
  for (; rows > 0; --rows, dy += width, y += width, dx += width) {
    const Vec sum = splat(sum_of_row(dy, width));
    for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR {
      lane.store(hn::NegMulAdd(exp_small(lane.load(y + i)), sum, lane.load(dy + i)), dx + i);
    });
  }
}

// log Σ exp(x) − x[label] of every row into `loss`, 0 where the label is no class.
void cross_entropy_rows(const float* x, const std::int32_t* label, float* probs, double* loss,
                        std::int64_t rows, std::size_t width) {
  for (std::int64_t r = 0; r < rows; ++r, x += width, probs += width) {
    const float highest = max_of_row(x, width);
    const float sum = exp_row(x, probs, width, highest, 1.0F);
    scale_row(probs, width, 1.0F / sum);
    const bool is_class = label[r] >= 0 && static_cast<std::size_t>(label[r]) < width;
    loss[r] =
        is_class ? std::log(static_cast<double>(sum)) + (static_cast<double>(highest) - x[label[r]]) : 0.0;
  }
}

// y = exp(x − highest) and its sum, row by row
void exp_sum_rows(const float* x, const float* highest, float* y, float* sum, std::int64_t rows,
                  std::size_t width) {
  for (std::int64_t r = 0; r < rows; ++r, x += width, y += width) {
    sum[r] = exp_row(x, y, width, highest[r], 1.0F);
  }
}

// dx = factor·(p − onehot), where the label may be none of the columns
void cross_entropy_grad_row(const float* probs, std::int64_t label, float factor, float* dx,
                            std::size_t width) {
  if (factor == 0) {
    std::fill_n(dx, width, 0.0F);
    return;
  }
  const bool is_here = label >= 0 && static_cast<std::size_t>(label) < width;
  const float own = is_here ? factor * (probs[label] - 1.0F) : 0.0F;  // Before the loop: dx may be probs.
  const Vec scale = splat(factor);
  for_vectors(width, [&](std::size_t i, auto lane)
                         HWY_ATTR { lane.store(hn::Mul(lane.load(probs + i), scale), dx + i); });
  if (is_here) dx[label] = own;
}

std::size_t argmax_row(const float* x, std::size_t width) {
  const Vec highest = splat(max_of_row(x, width));
  const std::size_t step = lanes();
  std::size_t i = 0;
  for (; i + step <= width; i += step) {
    const FloatMask equal = hn::Eq(hn::LoadU(kFloats, x + i), highest);
    if (!hn::AllFalse(kFloats, equal)) return i + static_cast<std::size_t>(hn::FindFirstTrue(kFloats, equal));
  }
  while (i < width && x[i] != hn::GetLane(highest)) ++i;
  return i < width ? i : 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(softmax_grad_rows);
HWY_EXPORT(log_softmax_grad_rows);
HWY_EXPORT(cross_entropy_rows);
HWY_EXPORT(exp_sum_rows);
HWY_EXPORT(cross_entropy_grad_row);
HWY_EXPORT(argmax_row);

std::int64_t row_grain(std::int64_t width) { return std::max<std::int64_t>(kElementGrain / width, 1); }

bool is_supported(DType dtype, std::int64_t width) { return dtype == DType::f32 && width > 0; }

using RowsFunction = void (*)(const float*, float*, std::int64_t, std::size_t);
using RowsGradFunction = void (*)(const float*, const float*, float*, std::int64_t, std::size_t);

std::unique_ptr<Kernel> make_rows(const RowsSpec& spec, RowsFunction function) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return make_kernel([spec, function](Buffers in, Buffers out) {
    parallel_for(spec.rows, row_grain(spec.width), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * spec.width;
      function(operand(in, 0) + at, operand(out, 0) + at, end - begin, static_cast<std::size_t>(spec.width));
    });
  });
}

std::unique_ptr<Kernel> make_rows_grad(const RowsSpec& spec, RowsGradFunction function) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return make_kernel([spec, function](Buffers in, Buffers out) {
    parallel_for(spec.rows, row_grain(spec.width), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * spec.width;
      function(operand(in, 0) + at, operand(in, 1) + at, operand(out, 0) + at, end - begin,
               static_cast<std::size_t>(spec.width));
    });
  });
}

class CrossEntropyKernel final : public Kernel {
 public:
  explicit CrossEntropyKernel(const LossSpec& spec) : spec_(spec) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    auto* losses = reinterpret_cast<double*>(scratch);
    const auto* label = operand<const std::int32_t>(in, 1);
    parallel_for(spec_.rows, row_grain(spec_.width), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * spec_.width;
      HWY_DYNAMIC_DISPATCH(cross_entropy_rows)
      (operand(in, 0) + at, label + begin, operand(out, 1) + at, losses + begin, end - begin,
       static_cast<std::size_t>(spec_.width));
    });
    *operand(out, 0) = static_cast<float>(weighted_sum(losses, operand<const float>(in, 2)));
  }
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(spec_.rows) * sizeof(double); }

 private:
  double weighted_sum(const double* losses, const float* weight) const {
    const std::int64_t rows_per_sample = spec_.rows / spec_.samples;
    double loss = 0;
    for (std::int64_t sample = 0; sample < spec_.samples; ++sample) {
      const double row_weight = static_cast<double>(weight[sample]) / static_cast<double>(rows_per_sample);
      if (row_weight == 0) continue;
      const double* row = losses + sample * rows_per_sample;
      for (std::int64_t i = 0; i < rows_per_sample; ++i) loss += row_weight * row[i];
    }
    return loss;
  }

  LossSpec spec_;
};

template <typename Label>
double count_correct(const LossSpec& spec, const float* x, const Label* label, const float* weight) {
  const std::int64_t rows_per_sample = spec.rows / spec.samples;
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < spec.rows; ++i) {
    if (!(weight[i / rows_per_sample] > 0)) continue;
    if (spec.width == 1) {
      correct += (x[i] > 0) == (static_cast<double>(label[i]) > 0.5) ? 1 : 0;
    } else {
      const auto width = static_cast<std::size_t>(spec.width);
      const std::size_t best = HWY_DYNAMIC_DISPATCH(argmax_row)(x + i * spec.width, width);
      correct += static_cast<std::int64_t>(best) == static_cast<std::int64_t>(label[i]) ? 1 : 0;
    }
  }
  return static_cast<double>(correct) / static_cast<double>(rows_per_sample);
}

}  // namespace

std::unique_ptr<Kernel> make_softmax(const RowsSpec& spec) {
  return make_rows(spec, [](auto... operands) { HWY_DYNAMIC_DISPATCH(softmax_rows)(operands...); });
}

std::unique_ptr<Kernel> make_log_softmax(const RowsSpec& spec) {
  return make_rows(spec, [](auto... operands) { HWY_DYNAMIC_DISPATCH(log_softmax_rows)(operands...); });
}

std::unique_ptr<Kernel> make_softmax_grad(const RowsSpec& spec) {
  return make_rows_grad(spec, [](auto... operands) { HWY_DYNAMIC_DISPATCH(softmax_grad_rows)(operands...); });
}

std::unique_ptr<Kernel> make_log_softmax_grad(const RowsSpec& spec) {
  return make_rows_grad(spec, [](auto... operands) {
    HWY_DYNAMIC_DISPATCH(log_softmax_grad_rows)(operands...);
  });
}

std::unique_ptr<Kernel> make_argmax(const RowsSpec& spec) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    parallel_for(spec.rows, row_grain(spec.width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        operand<std::int32_t>(out, 0)[row] = static_cast<std::int32_t>(HWY_DYNAMIC_DISPATCH(argmax_row)(
            operand(in, 0) + row * spec.width, static_cast<std::size_t>(spec.width)));
      }
    });
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy(const LossSpec& spec) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return std::make_unique<CrossEntropyKernel>(spec);
}

std::unique_ptr<Kernel> make_exp_sum(const RowsSpec& spec) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    parallel_for(spec.rows, row_grain(spec.width), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * spec.width;
      HWY_DYNAMIC_DISPATCH(exp_sum_rows)
      (operand(in, 0) + at, operand(in, 1) + begin, operand(out, 0) + at, operand(out, 1) + begin,
       end - begin, static_cast<std::size_t>(spec.width));
    });
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const LossSpec& spec) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const std::int64_t rows_per_sample = spec.rows / spec.samples;
    const float share = *operand(in, 0) / static_cast<float>(rows_per_sample);
    parallel_for(spec.rows, row_grain(spec.width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t label = operand<const std::int32_t>(in, 2)[row];
        const bool is_class = label >= 0 && label < spec.classes();
        const float factor = is_class ? share * operand(in, 3)[row / rows_per_sample] : 0.0F;
        HWY_DYNAMIC_DISPATCH(cross_entropy_grad_row)
        (operand(in, 1) + row * spec.width, label - spec.first(), factor, operand(out, 0) + row * spec.width,
         static_cast<std::size_t>(spec.width));
      }
    });
  });
}

std::unique_ptr<Kernel> make_count_correct(const LossSpec& spec) {
  if (!is_supported(spec.dtype, spec.width)) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const double count =
        spec.label_dtype == DType::i32
            ? count_correct(spec, operand(in, 0), operand<const std::int32_t>(in, 1), operand(in, 2))
            : count_correct(spec, operand(in, 0), operand<const float>(in, 1), operand(in, 2));
    *operand(out, 0) = static_cast<float>(count);
  });
}

}  // namespace hocket::kernel
#endif
