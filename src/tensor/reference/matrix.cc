#include "tensor/reference/matrix.h"

#include <algorithm>

#include "tensor/pooled_conv.h"
#include "tensor/reference/operands.h"
#include "tensor/reference/pooling.h"

namespace hocket::reference {
namespace {

double activate(double value, Activation activation) {
  return activation == Activation::relu ? std::max(value, 0.0) : value;
}

// The kernel that runs `body(In{}, T{}, in, out)` for the two dtypes of a product.
template <typename Spec, typename Body>
std::unique_ptr<Kernel> make_product_kernel(const Spec& spec, Body body) {
  if (spec.input_dtype == DType::bf16) {
    return make_float_kernel(spec.dtype,
                             [body](auto t, Buffers in, Buffers out) { body(BFloat16{}, t, in, out); });
  }
  return make_float_kernel(spec.dtype, [body](auto t, Buffers in, Buffers out) { body(t, t, in, out); });
}

template <typename In, typename T>
void matmul(const MatmulSpec& s, const In* a, const In* b, const T* bias, T* y) {
  for (std::int64_t batch = 0; batch < s.batch; ++batch, a += s.m * s.k, b += s.k * s.n, y += s.m * s.n) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = bias != nullptr ? bias[j] : 0;
        for (std::int64_t p = 0; p < s.k; ++p) {
          sum += to_double(s.ta ? a[p * s.m + i] : a[i * s.k + p]) *
                 to_double(s.tb ? b[j * s.k + p] : b[p * s.n + j]);
        }
        y[i * s.n + j] = static_cast<T>(activate(sum, s.activation));
      }
    }
  }
}

template <typename In, typename T>
void matmul_dw(const MatmulSpec& s, const In* x, const In* dy, T* dw) {
  for (std::int64_t p = 0; p < s.k; ++p) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < s.m; ++i) sum += to_double(x[i * s.k + p]) * to_double(dy[i * s.n + j]);
      dw[s.tb ? j * s.k + p : p * s.n + j] = static_cast<T>(sum);
    }
  }
}

ImageIndex input_index(const ConvSpec& s) { return {s.c, s.h, s.w, s.layout}; }
ImageIndex output_index(const ConvSpec& s) { return {s.o, s.oh(), s.ow(), s.layout}; }

// Channels of one group, in and out.
std::int64_t group_inputs(const ConvSpec& s) { return s.c / s.groups; }
std::int64_t group_outputs(const ConvSpec& s) { return s.o / s.groups; }

bool inside(std::int64_t position, std::int64_t size) { return position >= 0 && position < size; }

template <typename In>
double conv_at(const ConvSpec& s, const In* x, const In* w, std::int64_t n, std::int64_t o, std::int64_t oy,
               std::int64_t ox) {
  const ImageIndex at = input_index(s);
  const std::int64_t first = o / group_outputs(s) * group_inputs(s);
  double sum = 0;
  for (std::int64_t c = 0; c < group_inputs(s); ++c) {
    for (std::int64_t ky = 0; ky < s.kh; ++ky) {
      for (std::int64_t kx = 0; kx < s.kw; ++kx) {
        const std::int64_t iy = oy * s.stride + ky - s.padding;
        const std::int64_t ix = ox * s.stride + kx - s.padding;
        if (!inside(iy, s.h) || !inside(ix, s.w)) continue;
        const In weight = w[((o * group_inputs(s) + c) * s.kh + ky) * s.kw + kx];
        sum += to_double(x[at(n, first + c, iy, ix)]) * to_double(weight);
      }
    }
  }
  return sum;
}

template <typename In, typename T>
void conv2d(const ConvSpec& s, const In* x, const In* w, const T* bias, T* y) {
  const ImageIndex at = output_index(s);
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t o = 0; o < s.o; ++o) {
      for (std::int64_t oy = 0; oy < s.oh(); ++oy) {
        for (std::int64_t ox = 0; ox < s.ow(); ++ox) {
          const double sum = conv_at(s, x, w, n, o, oy, ox) + (bias != nullptr ? bias[o] : 0);
          y[at(n, o, oy, ox)] = static_cast<T>(activate(sum, s.activation));
        }
      }
    }
  }
}

// The output position that input position `i` reaches through tap `k`, or -1.
std::int64_t reached(const ConvSpec& s, std::int64_t i, std::int64_t k, std::int64_t outputs) {
  const std::int64_t distance = i + s.padding - k;
  return distance >= 0 && distance % s.stride == 0 && distance / s.stride < outputs ? distance / s.stride
                                                                                    : -1;
}

template <typename In>
double conv_dx_at(const ConvSpec& s, const In* dy, const In* w, std::int64_t n, std::int64_t c,
                  std::int64_t iy, std::int64_t ix) {
  const ImageIndex at = output_index(s);
  const std::int64_t first = c / group_inputs(s) * group_outputs(s);
  double sum = 0;
  for (std::int64_t o = first; o < first + group_outputs(s); ++o) {
    for (std::int64_t ky = 0; ky < s.kh; ++ky) {
      for (std::int64_t kx = 0; kx < s.kw; ++kx) {
        const std::int64_t oy = reached(s, iy, ky, s.oh());
        const std::int64_t ox = reached(s, ix, kx, s.ow());
        if (oy < 0 || ox < 0) continue;
        const In weight = w[((o * group_inputs(s) + c % group_inputs(s)) * s.kh + ky) * s.kw + kx];
        sum += to_double(dy[at(n, o, oy, ox)]) * to_double(weight);
      }
    }
  }
  return sum;
}

template <typename In, typename T>
void conv2d_dx(const ConvSpec& s, const In* dy, const In* w, T* dx) {
  const ImageIndex at = input_index(s);
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t c = 0; c < s.c; ++c) {
      for (std::int64_t iy = 0; iy < s.h; ++iy) {
        for (std::int64_t ix = 0; ix < s.w; ++ix) {
          dx[at(n, c, iy, ix)] = static_cast<T>(conv_dx_at(s, dy, w, n, c, iy, ix));
        }
      }
    }
  }
}

template <typename In>
double conv_dw_at(const ConvSpec& s, const In* dy, const In* x, std::int64_t o, std::int64_t c,
                  std::int64_t ky, std::int64_t kx) {
  double sum = 0;
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t oy = 0; oy < s.oh(); ++oy) {
      for (std::int64_t ox = 0; ox < s.ow(); ++ox) {
        const std::int64_t iy = oy * s.stride + ky - s.padding;
        const std::int64_t ix = ox * s.stride + kx - s.padding;
        if (!inside(iy, s.h) || !inside(ix, s.w)) continue;
        sum += to_double(dy[output_index(s)(n, o, oy, ox)]) * to_double(x[input_index(s)(n, c, iy, ix)]);
      }
    }
  }
  return sum;
}

// `dbias` may be null.
template <typename In, typename T>
void conv2d_dw(const ConvSpec& s, const In* dy, const In* x, T* dw, T* dbias) {
  for (std::int64_t o = 0; o < s.o; ++o) {
    const std::int64_t first = o / group_outputs(s) * group_inputs(s);
    for (std::int64_t c = first; c < first + group_inputs(s); ++c) {
      for (std::int64_t ky = 0; ky < s.kh; ++ky) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) *dw++ = static_cast<T>(conv_dw_at(s, dy, x, o, c, ky, kx));
      }
    }
    if (dbias == nullptr) continue;
    double sum = 0;
    for (std::int64_t n = 0; n < s.n; ++n) {
      for (std::int64_t oy = 0; oy < s.oh(); ++oy) {
        for (std::int64_t ox = 0; ox < s.ow(); ++ox) sum += to_double(dy[output_index(s)(n, o, oy, ox)]);
      }
    }
    dbias[o] = static_cast<T>(sum);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const MatmulSpec& spec) {
  return make_product_kernel(spec, [spec]<typename In, typename T>(In, T, Buffers in, Buffers out) {
    const T* bias = spec.has_bias ? operand<T>(in, 2) : nullptr;
    matmul(spec, operand<In>(in, 0), operand<In>(in, 1), bias, operand<T>(out, 0));
  });
}

std::unique_ptr<Kernel> make_matmul_dw(const MatmulSpec& spec) {
  return make_product_kernel(spec, [spec]<typename In, typename T>(In, T, Buffers in, Buffers out) {
    matmul_dw(spec, operand<In>(in, 0), operand<In>(in, 1), operand<T>(out, 0));
  });
}

std::unique_ptr<Kernel> make_conv2d(const ConvSpec& spec) {
  if (spec.pool > 1)
    return chain_conv_and_pool(spec, make_conv2d(without_pool(spec)), make_max_pool(pool_of(spec)));
  return make_product_kernel(spec, [spec]<typename In, typename T>(In, T, Buffers in, Buffers out) {
    const T* bias = spec.has_bias ? operand<T>(in, 2) : nullptr;
    conv2d(spec, operand<In>(in, 0), operand<In>(in, 1), bias, operand<T>(out, 0));
  });
}

std::unique_ptr<Kernel> make_conv2d_dx(const ConvSpec& spec) {
  if (spec.pool > 1)
    return chain_pool_and_gradient(spec, make_max_pool_dx(pool_of(spec)), make_conv2d_dx(without_pool(spec)));
  return make_product_kernel(spec, [spec]<typename In, typename T>(In, T, Buffers in, Buffers out) {
    conv2d_dx(spec, operand<In>(in, 0), operand<In>(in, 1), operand<T>(out, 0));
  });
}

std::unique_ptr<Kernel> make_conv2d_dw(const ConvSpec& spec) {
  if (spec.pool > 1)
    return chain_pool_and_gradient(spec, make_max_pool_dx(pool_of(spec)), make_conv2d_dw(without_pool(spec)));
  return make_product_kernel(spec, [spec]<typename In, typename T>(In, T, Buffers in, Buffers out) {
    conv2d_dw(spec, operand<In>(in, 0), operand<In>(in, 1), operand<T>(out, 0),
              spec.has_bias ? operand<T>(out, 1) : nullptr);
  });
}

}  // namespace hocket::reference
