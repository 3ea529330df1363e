#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/elementwise.h"

namespace hocket::kernel {
namespace {

// Relative to 1 + |y|: twice the distance between two floats near 1.
constexpr double kUnaryTolerance = 2.4e-7;

constexpr Unary kOps[] = {Unary::relu, Unary::tanh, Unary::sigmoid, Unary::gelu, Unary::exp};

TEST(Unary, AgreesWithTheReference) {
  for (const Unary op : kOps) {
    for (const std::int64_t count : {1, 15, 16, 17, 33, 1000}) {
      for (const double range : {0.5, 4.0, 20.0}) {
        expect_same(make_unary({op, count}), reference::make_unary({op, count}),
                    {random_floats(count, 1, -range, range)}, {Operand(DType::f32, count)}, kUnaryTolerance,
                    fmt::format("unary {} of {}", static_cast<int>(op), count));
      }
    }
  }
}

TEST(Unary, GradientAgreesWithTheReference) {
  for (const Unary op : kOps) {
    for (const std::int64_t count : {1, 15, 16, 17, 33, 1000}) {
      expect_same(make_unary_grad({op, count}), reference::make_unary_grad({op, count}),
                  {random_floats(count, 1), random_floats(count, 2, -3, 3)}, {Operand(DType::f32, count)},
                  2 * kUnaryTolerance, fmt::format("unary_grad {} of {}", static_cast<int>(op), count));
    }
  }
}

TEST(Unary, KeepsInfinityAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Operand x = floats({kInfinity, -kInfinity, std::nanf(""), 200, -200, 88.5F, -104, 0});
  for (const Unary op : {Unary::tanh, Unary::sigmoid, Unary::exp}) {
    expect_same(make_unary({op, x.count()}), reference::make_unary({op, x.count()}), {x},
                {Operand(DType::f32, x.count())}, kUnaryTolerance,
                fmt::format("unary {}", static_cast<int>(op)));
  }
}

TEST(Unary, GeluFarOutAgreesWithTheReference) {
  const Operand x = floats({std::nanf(""), 12.4F, -12.4F, 13, -13, 200, -200, 1e30F, -1e30F});
  const Operand y(DType::f32, x.count()), dy = random_floats(x.count(), 1);
  expect_same(make_unary({Unary::gelu, x.count()}), reference::make_unary({Unary::gelu, x.count()}), {x}, {y},
              kUnaryTolerance, "gelu");
  expect_same(make_unary_grad({Unary::gelu, x.count()}), reference::make_unary_grad({Unary::gelu, x.count()}),
              {dy, x}, {y}, kUnaryTolerance, "gelu_grad");
}

TEST(Unary, ReluKeepsNan) {
  const Operand x = floats({std::nanf(""), -1, 1}), y(DType::f32, 3);
  std::byte* in[] = {x.data()};
  std::byte* out[] = {y.data()};
  make_unary({Unary::relu, 3})->run(in, out, nullptr);
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
  EXPECT_EQ(y.as<float>()[1], 0);
  EXPECT_EQ(y.as<float>()[2], 1);
}

TEST(Unary, ScaleAgreesWithTheReference) {
  const ScaleSpec spec{.count = 35, .factor = -0.25, .offset = 3};
  expect_same(make_scale(spec), reference::make_scale(spec), {random_floats(35, 1)},
              {Operand(DType::f32, 35)}, kUnaryTolerance, "scale");
}

}  // namespace
}  // namespace hocket::kernel
