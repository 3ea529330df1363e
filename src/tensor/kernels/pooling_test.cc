#include "tensor/kernels/pooling.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tensor/kernels/oracle.h"
#include "tensor/reference/pooling.h"

namespace hocket::kernel {
namespace {

std::vector<PoolSpec> pool_shapes() {
  std::vector<PoolSpec> result;
  for (const std::int64_t c : {1, 5, 16, 17, 33}) {
    const PoolSpec image{.n = 3, .c = c, .h = 8, .w = 10, .layout = Layout::channels_last};
    for (const auto& [kernel, stride, padding] :
         {std::tuple{2, 2, 0}, {3, 2, 1}, {3, 3, 0}, {2, 3, 1}, {3, 1, 1}}) {
      PoolSpec spec = image;
      spec.kernel = kernel;
      spec.stride = stride;
      spec.padding = padding;
      result.push_back(spec);
    }
  }
  return result;
}

std::string name_of(const PoolSpec& s) {
  return fmt::format("c={} kernel={} stride={} padding={}", s.c, s.kernel, s.stride, s.padding);
}

TEST(MaxPool, AgreesWithTheReference) {
  for (const PoolSpec& s : pool_shapes()) {
    const std::int64_t inputs = s.n * s.c * s.h * s.w;
    const std::int64_t outputs = s.n * s.c * s.oh() * s.ow();
    const Operand index = random_bytes(outputs, 3, s.kernel * s.kernel);
    expect_same(make_max_pool(s), reference::make_max_pool(s), {random_floats(inputs, 1)},
                {Operand(DType::f32, outputs), index}, 0, "max_pool " + name_of(s));
    expect_same(make_max_pool_dx(s), reference::make_max_pool_dx(s), {random_floats(outputs, 2), index},
                {Operand(DType::f32, inputs)}, kTolerance, "max_pool_dx " + name_of(s));
  }
}

TEST(MaxPool, TakesTheFirstOfEquals) {
  const PoolSpec s{.n = 1, .c = 17, .h = 4, .w = 4, .layout = Layout::channels_last};
  for (const float value : {1.5F, 0.0F, -std::numeric_limits<float>::infinity()}) {
    expect_same(make_max_pool(s), reference::make_max_pool(s), {floats(std::vector<float>(17 * 16, value))},
                {Operand(DType::f32, 17 * 4), Operand(DType::u8, 17 * 4)}, 0, fmt::format("of {}", value));
  }
}

TEST(AvgPool, AgreesWithTheReference) {
  for (const PoolSpec& s : pool_shapes()) {
    const std::int64_t inputs = s.n * s.c * s.h * s.w;
    const std::int64_t outputs = s.n * s.c * s.oh() * s.ow();
    expect_same(make_avg_pool(s), reference::make_avg_pool(s), {random_floats(inputs, 1)},
                {Operand(DType::f32, outputs)}, kTolerance, "avg_pool " + name_of(s));
    expect_same(make_avg_pool_dx(s), reference::make_avg_pool_dx(s), {random_floats(outputs, 2)},
                {Operand(DType::f32, inputs)}, kTolerance, "avg_pool_dx " + name_of(s));
  }
}

TEST(GlobalAvgPool, AgreesWithTheReferenceInBothLayouts) {
  for (const Layout layout : {Layout::plain, Layout::channels_last}) {
    for (const std::int64_t c : {1, 16, 33}) {
      const PoolSpec s{.n = 3, .c = c, .h = 5, .w = 7, .layout = layout};
      const std::int64_t inputs = s.n * s.c * s.h * s.w;
      expect_same(make_global_avg_pool(s), reference::make_global_avg_pool(s), {random_floats(inputs, 1)},
                  {Operand(DType::f32, s.n * s.c)}, kTolerance, "global_avg_pool");
      expect_same(make_global_avg_pool_dx(s), reference::make_global_avg_pool_dx(s),
                  {random_floats(s.n * s.c, 1)}, {Operand(DType::f32, inputs)}, kTolerance,
                  "global_avg_pool_dx");
    }
  }
}

}  // namespace
}  // namespace hocket::kernel
