#include "tensor/kernels/epilogue.h"

#include "tensor/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/epilogue.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

template <bool kRelu>
void add_bias(float* y, std::int64_t rows, std::size_t width, std::int64_t stride, const float* bias) {
  for (std::int64_t r = 0; r < rows; ++r, y += stride) {
    for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR {
      const Vec v = hn::Add(lane.load(y + i), lane.load(bias + i));
      lane.store(kRelu ? relu(v) : v, y + i);
    });
  }
}

void clamp(float* y, std::int64_t rows, std::size_t width, std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r, y += stride) {
    for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR { lane.store(relu(lane.load(y + i)), y + i); });
  }
}

void epilogue(float* y, std::int64_t rows, std::size_t width, std::int64_t stride, const float* bias,
              bool with_relu) {
  if (bias == nullptr) {
    clamp(y, rows, width, stride);
  } else if (with_relu) {
    add_bias<true>(y, rows, width, stride, bias);
  } else {
    add_bias<false>(y, rows, width, stride, bias);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {

HWY_EXPORT(epilogue);

void apply_epilogue(float* y, std::int64_t rows, std::int64_t width, std::int64_t stride, const float* bias,
                    bool relu) {
  if (bias == nullptr && !relu) return;
  HWY_DYNAMIC_DISPATCH(epilogue)(y, rows, static_cast<std::size_t>(width), stride, bias, relu);
}

}  // namespace hocket::kernel
#endif
