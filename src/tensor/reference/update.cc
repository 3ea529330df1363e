#include "tensor/reference/update.h"

#include <algorithm>
#include <cmath>

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

// The learning rate and what else changes from step to step.
struct Hyper {
  double rate, correction1, correction2, divisor;
};

// Updates element i of the parameter and of its state by the gradient g.
template <typename T>
void update_element(const UpdateSpec& s, const Hyper& hyper, double g, std::int64_t i, T* w, T* first,
                    T* second) {
  const double rate = hyper.rate;
  double weight = w[i];
  if (s.rule == UpdateRule::adamw) {
    weight -= rate * s.decay * weight;
  } else {
    g += s.decay * weight;
  }
  switch (s.rule) {
    case UpdateRule::sgd: weight -= rate * g; break;
    case UpdateRule::momentum:
      first[i] = static_cast<T>(s.mu * first[i] - rate * g);
      weight += first[i];
      break;
    case UpdateRule::nesterov:
      first[i] = static_cast<T>(s.mu * first[i] - rate * g);
      weight += s.mu * first[i] - rate * g;
      break;
    case UpdateRule::adagrad:
      first[i] = static_cast<T>(first[i] + g * g);
      weight -= rate * g / (std::sqrt(static_cast<double>(first[i])) + s.eps);
      break;
    case UpdateRule::adam:
    case UpdateRule::adamw:
      first[i] = static_cast<T>(s.beta1 * first[i] + (1 - s.beta1) * g);
      second[i] = static_cast<T>(s.beta2 * second[i] + (1 - s.beta2) * g * g);
      weight -= rate / hyper.correction1 * first[i] /
                (std::sqrt(static_cast<double>(second[i])) / std::sqrt(hyper.correction2) + s.eps);
      break;
  }
  w[i] = static_cast<T>(weight);
}

// Operands: w, g, [row ids], hyper, state…, [scale].
template <typename T>
void update(const UpdateSpec& s, Buffers in) {
  const std::size_t hyper_at = s.rows > 0 ? 3 : 2;
  const auto slots = static_cast<std::size_t>(s.slots());
  const double* values = operand<double>(in, hyper_at);
  const Hyper hyper{values[0], values[1], values[2], values[3]};
  const double scale = (s.has_scale ? *operand<float>(in, hyper_at + slots + 1) : 1.0) / hyper.divisor;
  T* w = operand<T>(in, 0);
  const T* g = operand<T>(in, 1);
  T* first = slots > 0 ? operand<T>(in, hyper_at + 1) : nullptr;
  T* second = slots > 1 ? operand<T>(in, hyper_at + 2) : nullptr;
  if (s.rows == 0) {
    for (std::int64_t i = 0; i < s.count; ++i) update_element(s, hyper, scale * g[i], i, w, first, second);
    return;
  }
  const std::int32_t* ids = operand<std::int32_t>(in, 2);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const std::int64_t at = (ids[row] - s.first) * s.width;
    if (at < 0 || at >= s.count) continue;
    for (std::int64_t j = 0; j < s.width; ++j) {
      update_element(s, hyper, scale * g[row * s.width + j], at + j, w, first, second);
    }
  }
}

// Σ g² of each block, from its first element to its last.
template <typename T>
void square_sums(const T* g, std::int64_t count, double* sums) {
  for (std::int64_t begin = 0; begin < count; begin += SquareSumsSpec::kBlock) {
    double block = 0;
    for (std::int64_t i = begin; i < std::min(begin + SquareSumsSpec::kBlock, count); ++i) {
      block += static_cast<double>(g[i]) * static_cast<double>(g[i]);
    }
    *sums++ = block;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_update(const UpdateSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers) { update<T>(spec, in); });
}

std::unique_ptr<Kernel> make_square_sums(const SquareSumsSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    auto* sums = operand<double>(out, 0);
    std::fill_n(sums, spec.size, 0.0);
    for (std::size_t i = 0; i < spec.counts.size(); ++i) {
      square_sums(operand<T>(in, i), spec.counts[i], sums + spec.begins[i]);
    }
  });
}

// Sums are few: there is no faster kernel.
std::unique_ptr<Kernel> make_clip_scale(const ClipSpec& spec) {
  return make_kernel([spec](Buffers in, Buffers out) {
    double squares = 0;
    for (std::size_t i = 0; i < spec.counts.size(); ++i) {
      for (std::int64_t b = 0; b < spec.counts[i]; ++b) squares += operand<double>(in, i)[b];
    }
    const double norm = std::sqrt(squares);
    const bool clips = spec.max > 0 && norm > spec.max;
    *operand<float>(out, 0) = clips ? static_cast<float>(spec.max / norm) : 1.0F;
    *operand<float>(out, 1) = static_cast<float>(norm);
  });
}

std::unique_ptr<Kernel> make_accumulate(const AccumulateSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers) {
    for (std::int64_t i = 0; i < spec.count; ++i) operand<T>(in, 0)[i] += operand<T>(in, 1)[i];
  });
}

}  // namespace hocket::reference
