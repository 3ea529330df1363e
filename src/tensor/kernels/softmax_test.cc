#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/loss.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/loss.h"

namespace hocket::kernel {
namespace {

std::vector<RowsSpec> row_shapes() {
  std::vector<RowsSpec> shapes;
  for (const std::int64_t width : {1, 10, 15, 16, 17, 33, 256, 1000})
    shapes.push_back({.rows = 7, .width = width});
  return shapes;
}

std::vector<LossSpec> loss_shapes() {
  std::vector<LossSpec> shapes;
  for (const std::int64_t width : {2, 10, 16, 17, 33, 256})
    shapes.push_back({.rows = 12, .width = width, .samples = 4});
  return shapes;
}

TEST(Softmax, AgreesWithTheReference) {
  for (const RowsSpec& s : row_shapes()) {
    const std::int64_t count = s.rows * s.width;
    const std::vector<Operand> x = {random_floats(count, 1, -20, 20)}, y = {Operand(DType::f32, count)};
    expect_same(make_softmax(s), reference::make_softmax(s), x, y, kTolerance,
                fmt::format("softmax {}", s.width));
    expect_same(make_log_softmax(s), reference::make_log_softmax(s), x, y, kTolerance, "log_softmax");
    expect_same(make_argmax(s), reference::make_argmax(s), x, {Operand(DType::i32, s.rows)}, 0, "argmax");
  }
}

TEST(Softmax, GradientsAgreeWithTheReference) {
  for (const RowsSpec& s : row_shapes()) {
    const std::int64_t count = s.rows * s.width;
    const std::vector<Operand> in = {random_floats(count, 1), random_floats(count, 2, -2, 0)};
    const std::vector<Operand> dx = {Operand(DType::f32, count)};
    expect_same(make_softmax_grad(s), reference::make_softmax_grad(s), in, dx, 1e-5, "softmax_grad");
    expect_same(make_log_softmax_grad(s), reference::make_log_softmax_grad(s), in, dx, 1e-5,
                "log_softmax_grad");
  }
}

TEST(Softmax, ArgmaxTakesTheFirstOfEquals) {
  const RowsSpec s{.rows = 2, .width = 20};
  Operand x = floats(std::vector<float>(40, 1.0F));
  x.as<float>()[20 + 17] = 2;
  x.as<float>()[20 + 18] = 2;
  expect_same(make_argmax(s), reference::make_argmax(s), {x}, {Operand(DType::i32, 2)}, 0, "argmax");
}

TEST(SoftmaxCrossEntropy, AgreesWithTheReference) {
  for (const LossSpec& s : loss_shapes()) {
    const std::int64_t count = s.rows * s.width;
    const Operand label = random_ints(s.rows, 2, -1, s.width + 1);  // Two of them are no class.
    const Operand weight = floats({0.25F, 0, 0.5F, 1});
    expect_same(make_softmax_cross_entropy(s), reference::make_softmax_cross_entropy(s),
                {random_floats(count, 1, -5, 5), label, weight},
                {Operand(DType::f32, 1), Operand(DType::f32, count)}, kTolerance,
                fmt::format("cross entropy {}", s.width));
    expect_same(make_softmax_cross_entropy_grad(s), reference::make_softmax_cross_entropy_grad(s),
                {floats({0.5F}), random_floats(count, 3, 0, 1), label, weight}, {Operand(DType::f32, count)},
                kTolerance, "cross entropy gradient");
    expect_same(make_exp_sum({.rows = s.rows, .width = s.width}),
                reference::make_exp_sum({.rows = s.rows, .width = s.width}),
                {random_floats(count, 1, -5, 5), random_floats(s.rows, 4, 5, 6)},
                {Operand(DType::f32, count), Operand(DType::f32, s.rows)}, kTolerance, "exp_sum");
    expect_same(make_count_correct(s), reference::make_count_correct(s),
                {random_floats(count, 1, -5, 5), label, weight}, {Operand(DType::f32, 1)}, 0,
                "count_correct");
  }
}

TEST(SoftmaxCrossEntropy, GradientOfAPartOfTheClassesAgreesWithTheReference) {
  const LossSpec s{.rows = 12, .width = 17, .samples = 4, .part = 1, .parts = 3};
  const Operand label = random_ints(s.rows, 2, -1, s.classes() + 1);
  expect_same(make_softmax_cross_entropy_grad(s), reference::make_softmax_cross_entropy_grad(s),
              {floats({0.5F}), random_floats(s.rows * s.width, 3, 0, 1), label, floats({0.25F, 0, 0.5F, 1})},
              {Operand(DType::f32, s.rows * s.width)}, kTolerance, "a part of the classes");
}

}  // namespace
}  // namespace hocket::kernel
