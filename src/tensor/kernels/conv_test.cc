#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/matrix.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/matrix.h"

namespace hocket::kernel {
namespace {

constexpr double kConvDwTolerance = 4e-5;  // A sum of thousands of products, in f32.

std::string name_of(const ConvSpec& s) {
  return fmt::format(
      "conv n={} c={} {}x{} o={} kernel {}x{} stride {} padding {} groups {} pool {} {} bf16={}", s.n, s.c,
      s.h, s.w, s.o, s.kh, s.kw, s.stride, s.padding, s.groups, s.pool,
      s.layout == Layout::channels_last ? "channels last" : "plain", s.input_dtype == DType::bf16);
}

Operand as_input(const ConvSpec& s, Operand operand) {
  return s.input_dtype == DType::bf16 ? to_bf16(operand) : operand;
}

void check_conv(const ConvSpec& s) {
  const std::int64_t filters = s.o * s.c / s.groups * s.kh * s.kw;
  const Operand x = as_input(s, random_floats(s.n * s.c * s.h * s.w, 1));
  const Operand w = as_input(s, random_floats(filters, 2, -0.3, 0.3));
  const Operand dy = as_input(s, random_floats(s.n * s.o * (s.oh() / s.pool) * (s.ow() / s.pool), 3));
  std::vector<Operand> in = {x, w}, out = {Operand(DType::f32, dy.count())};
  std::vector<Operand> for_dx = {dy, w}, for_dw = {dy, x};
  if (s.has_bias) in.push_back(random_floats(s.o, 4));
  if (s.pool > 1) {
    const Operand index = random_bytes(dy.count(), 5, s.pool * s.pool);
    out.push_back(index);
    for_dx.push_back(index);
    for_dw.push_back(index);
  }
  expect_same(make_conv2d(s), reference::make_conv2d(s), in, out, kSumTolerance, name_of(s));
  expect_same(make_conv2d_dx(s), reference::make_conv2d_dx(s), for_dx, {Operand(DType::f32, x.count())},
              kSumTolerance, name_of(s) + " dx");
  std::vector<Operand> gradients = {Operand(DType::f32, filters)};
  if (s.has_bias) gradients.push_back(Operand(DType::f32, s.o));
  expect_same(make_conv2d_dw(s), reference::make_conv2d_dw(s), for_dw, gradients, kConvDwTolerance,
              name_of(s) + " dw");
}

TEST(Conv2d, AgreesWithTheReferenceInBothLayouts) {
  for (const Layout layout : {Layout::plain, Layout::channels_last}) {
    for (const std::int64_t c : {1, 3, 16, 17}) {
      for (const std::int64_t o : {5, 16, 33}) {
        check_conv(
            {.n = 2, .c = c, .h = 7, .w = 9, .o = o, .kh = 3, .kw = 3, .padding = 1, .layout = layout});
      }
    }
  }
}

TEST(Conv2d, TakesStridePaddingAndFilterSizes) {
  for (const std::int64_t kernel : {1, 3, 5}) {
    for (const std::int64_t stride : {1, 2}) {
      for (const std::int64_t padding : {0, 2}) {
        check_conv({.n = 2,
                    .c = 16,
                    .h = 11,
                    .w = 8,
                    .o = 32,
                    .kh = kernel,
                    .kw = kernel,
                    .stride = stride,
                    .padding = padding,
                    .layout = Layout::channels_last});
      }
    }
  }
  check_conv({.n = 1, .c = 3, .h = 23, .w = 23, .o = 16, .kh = 11, .kw = 11, .stride = 4, .padding = 2});
}

TEST(Conv2d, FusesBiasAndRelu) {
  for (const Layout layout : {Layout::plain, Layout::channels_last}) {
    check_conv({.n = 3,
                .c = 4,
                .h = 6,
                .w = 6,
                .o = 20,
                .kh = 3,
                .kw = 3,
                .padding = 1,
                .has_bias = true,
                .activation = Activation::relu,
                .layout = layout});
  }
}

TEST(Conv2d, AgreesWithTheReferenceForFewChannels) {
  for (const std::int64_t c : {1, 2, 3}) {
    for (const std::int64_t o : {1, 15, 32, 49}) {
      for (const std::int64_t stride : {1, 2}) {
        check_conv({.n = 19,
                    .c = c,
                    .h = 9,
                    .w = 12,
                    .o = o,
                    .kh = 3,
                    .kw = c == 1 ? 5 : 3,
                    .stride = stride,
                    .padding = 2,
                    .has_bias = true,
                    .activation = Activation::relu,
                    .layout = Layout::channels_last});
      }
    }
  }
}

// Few channels, whose kernel pools strips of rows; more, where one kernel runs after the other.
TEST(Conv2d, Pools) {
  for (const std::int64_t c : {1, 2, 3, 20}) {
    for (const std::int64_t o : {1, 15, 32, 49}) {
      for (const std::int64_t pool : {2, 4}) {
        check_conv({.n = 5,
                    .c = c,
                    .h = 8,
                    .w = 12,
                    .o = o,
                    .kh = 3,
                    .kw = 3,
                    .padding = 1,
                    .pool = pool,
                    .has_bias = true,
                    .activation = Activation::relu,
                    .layout = Layout::channels_last});
      }
    }
  }
}

TEST(Conv2d, DoesNotDependOnTheNumberOfThreads) {
  const ConvSpec s{.n = 9,
                   .c = 1,
                   .h = 14,
                   .w = 14,
                   .o = 32,
                   .kh = 3,
                   .kw = 3,
                   .padding = 1,
                   .has_bias = true,
                   .layout = Layout::channels_last};
  const Operand x = random_floats(s.n * s.h * s.w, 1), y = random_floats(s.n * s.o * s.h * s.w, 2);
  const Operand w = random_floats(s.o * 9, 3), bias(DType::f32, s.o);
  expect_same(with_threads(2, make_conv2d(s)), make_conv2d(s), {x, w, random_floats(s.o, 4)}, {y}, 0, "conv");
  expect_same(with_threads(2, make_conv2d_dw(s)), make_conv2d_dw(s), {y, x}, {w, bias}, 0, "conv dw");
}

TEST(Conv2d, TakesGroups) {
  struct Groups {
    std::int64_t c, o, count;
  };
  for (const Layout layout : {Layout::plain, Layout::channels_last}) {
    for (const auto& [c, o, count] : {Groups{32, 32, 2}, Groups{16, 16, 16}, Groups{6, 9, 3}}) {
      check_conv({.n = 2,
                  .c = c,
                  .h = 6,
                  .w = 6,
                  .o = o,
                  .kh = 3,
                  .kw = 3,
                  .padding = 1,
                  .groups = count,
                  .layout = layout});
    }
  }
}

TEST(Conv2d, TakesBf16) {
  for (const std::int64_t c : {1, 3, 16, 32}) {
    check_conv({.n = 2,
                .c = c,
                .h = 6,
                .w = 6,
                .o = 32,
                .kh = 3,
                .kw = 3,
                .padding = 1,
                .has_bias = true,
                .input_dtype = DType::bf16,
                .layout = Layout::channels_last});
  }
}

}  // namespace
}  // namespace hocket::kernel
