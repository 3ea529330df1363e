#include "tensor/reference/elementwise.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tensor/dropout_mask.h"
#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

double apply(Binary op, double a, double b) {
  switch (op) {
    case Binary::add: return a + b;
    case Binary::sub: return a - b;
    case Binary::mul: return a * b;
    case Binary::div: break;
  }
  return a / b;
}

double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }
double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double apply(Unary op, double x) {
  switch (op) {
    case Unary::relu: return x > 0 ? x : 0;
    case Unary::tanh: return std::tanh(x);
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::gelu: return x * normal_distribution(x);
    case Unary::exp: break;
  }
  return std::exp(x);
}

// The derivative, by the result `v`, or for gelu by the argument `v`.
double slope(Unary op, double v) {
  switch (op) {
    case Unary::relu: return v > 0 ? 1 : 0;
    case Unary::tanh: return 1 - v * v;
    case Unary::sigmoid: return v * (1 - v);
    case Unary::gelu: return normal_distribution(v) + v * normal_density(v);
    case Unary::exp: break;
  }
  return v;
}

// Real to whole numbers: towards zero, the nearest bound where it does not fit, 0 for NaN.
template <typename To>
To truncate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (value >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <typename To, typename From>
To cast_value(From value) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    return truncate<To>(to_double(value));
  } else if constexpr (std::is_same_v<To, double>) {
    return to_double(value);
  } else {
    return static_cast<To>(static_cast<float>(value));
  }
}

}  // namespace

std::unique_ptr<Kernel> make_binary(const BinarySpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const Index a = broadcast_strides(spec.a, spec.y);
    const Index b = broadcast_strides(spec.b, spec.y);
    T* y = operand<T>(out, 0);
    for_each_index(spec.y, [&](const Index& i) {
      *y++ = static_cast<T>(
          apply(spec.op, operand<T>(in, 0)[offset_of(i, a)], operand<T>(in, 1)[offset_of(i, b)]));
    });
  });
}

std::unique_ptr<Kernel> make_scale(const ScaleSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.count; ++i) {
      operand<T>(out, 0)[i] = static_cast<T>(spec.factor * operand<T>(in, 0)[i] + spec.offset);
    }
  });
}

std::unique_ptr<Kernel> make_unary(const UnarySpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.count; ++i) {
      operand<T>(out, 0)[i] = static_cast<T>(apply(spec.op, operand<T>(in, 0)[i]));
    }
  });
}

std::unique_ptr<Kernel> make_unary_grad(const UnaryGradSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.count; ++i) {
      const T dy = spec.has_second ? operand<T>(in, 0)[i] + operand<T>(in, 2)[i] : operand<T>(in, 0)[i];
      operand<T>(out, 0)[i] = static_cast<T>(dy * slope(spec.op, operand<T>(in, 1)[i]));
    }
  });
}

std::unique_ptr<Kernel> make_dropout(const DropoutSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const std::int64_t* key = operand<std::int64_t>(in, 1);
    const DropoutMask mask(key[0], spec.stream, key[1], spec.rate);
    const ImageIndex at{spec.c, spec.spatial, 1, spec.layout};
    std::int64_t element = key[2] * spec.c * spec.spatial;
    for (std::int64_t n = 0; n < spec.n; ++n) {
      for (std::int64_t c = 0; c < spec.c; ++c) {
        for (std::int64_t s = 0; s < spec.spatial; ++s, ++element) {
          const std::int64_t i = at(n, c, s, 0);
          const bool kept = mask.keeps(static_cast<std::uint64_t>(spec.global(element)));
          operand<T>(out, 0)[i] = kept ? static_cast<T>(operand<T>(in, 0)[i] / (1 - spec.rate)) : T{0};
        }
      }
    }
  });
}

std::unique_ptr<Kernel> make_cast(const CastSpec& spec) {
  return visit_dtype(spec.from, [&]<typename From>(From) {
    return visit_dtype(spec.to, [&]<typename To>(To) -> std::unique_ptr<Kernel> {
      return make_kernel([count = spec.count](Buffers in, Buffers out) {
        for (std::int64_t i = 0; i < count; ++i)
          operand<To>(out, 0)[i] = cast_value<To>(operand<From>(in, 0)[i]);
      });
    });
  });
}

}  // namespace hocket::reference
