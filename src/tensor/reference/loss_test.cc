#include "tensor/reference/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/reference/run_kernel.h"

namespace hocket::reference {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

RowsSpec rows(std::int64_t count, std::int64_t width, DType dtype = DType::f64) {
  return {count, width, 1e-5, dtype};
}

TEST(ReferenceSoftmax, HasTheNotesNumbers) {
  const Tensor probs(DType::f64, {3});
  run_kernel(*make_softmax(rows(1, 3)), {Tensor::of<double>({3}, {1, 5, 3})}, {probs});
  EXPECT_NEAR(probs.values<double>()[0], 0.0159, 5e-5);
  EXPECT_NEAR(probs.values<double>()[1], 0.8668, 5e-5);
  EXPECT_NEAR(probs.values<double>()[2], 0.1173, 5e-5);
}

TEST(ReferenceSoftmax, SurvivesLargeNumbers) {
  const Tensor probs(DType::f32, {2});
  run_kernel(*make_softmax(rows(1, 2, DType::f32)), {Tensor::of<float>({2}, {10000, 10000})}, {probs});
  EXPECT_EQ(elements<float>(probs), (std::vector<float>{0.5F, 0.5F}));
}

TEST(ReferenceCrossEntropy, GradientIsProbabilityMinusOneHot) {
  const LossSpec spec{1, 3, 1, DType::f64};
  const Tensor label = Tensor::of<std::int32_t>({1}, {1});
  const Tensor weight = Tensor::of<float>({1}, {1});
  const Tensor loss(DType::f64, {}), probs(DType::f64, {1, 3}), gradient(DType::f64, {1, 3});
  run_kernel(*make_softmax_cross_entropy(spec), {Tensor::of<double>({1, 3}, {1, 5, 3}), label, weight},
             {loss, probs});
  run_kernel(*make_softmax_cross_entropy_grad(spec), {Tensor::of<double>({}, {1}), probs, label, weight},
             {gradient});
  EXPECT_NEAR(loss.values<double>()[0], -std::log(0.8668), 5e-5);
  EXPECT_NEAR(gradient.values<double>()[0], 0.0159, 5e-5);
  EXPECT_NEAR(gradient.values<double>()[1], 0.8668 - 1, 5e-5);
  EXPECT_NEAR(gradient.values<double>()[2], 0.1173, 5e-5);
}

TEST(ReferenceCrossEntropy, SharesASamplesWeightAmongItsRows) {
  const LossSpec spec{4, 2, 2, DType::f64};
  const Tensor label = Tensor::of<std::int32_t>({2, 2}, {0, 1, 0, 1});
  const Tensor loss(DType::f64, {}), probs(DType::f64, {4, 2});
  run_kernel(*make_softmax_cross_entropy(spec),
             {Tensor(DType::f64, {4, 2}), label, Tensor::of<float>({2}, {1, 0.5F})}, {loss, probs});
  EXPECT_NEAR(loss.values<double>()[0], 1.5 * std::log(2), 1e-12);
}

TEST(ReferenceCrossEntropy, PaddingContributesNothingWhateverItHolds) {
  const LossSpec spec{2, 2, 2, DType::f32};
  const Tensor label = Tensor::of<std::int32_t>({2}, {0, 77});
  const Tensor weight = Tensor::of<float>({2}, {1, 0});
  const Tensor loss(DType::f32, {}), probs(DType::f32, {2, 2}), gradient(DType::f32, {2, 2});
  run_kernel(*make_softmax_cross_entropy(spec),
             {Tensor::of<float>({2, 2}, {0, 0, kNan, kNan}), label, weight}, {loss, probs});
  run_kernel(*make_softmax_cross_entropy_grad(spec), {Tensor::of<float>({}, {1}), probs, label, weight},
             {gradient});
  EXPECT_FLOAT_EQ(loss.values<float>()[0], std::log(2.0F));
  EXPECT_EQ(elements<float>(gradient), (std::vector<float>{-0.5F, 0.5F, 0, 0}));
}

double loss_of(std::unique_ptr<Kernel> kernel, const std::vector<double>& x,
               const std::vector<double>& target) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Tensor loss(DType::f64, {});
  const Tensor weight = Tensor::of<float>({n}, std::vector<float>(x.size(), 1));
  run_kernel(*kernel, {Tensor::of<double>({n, 1}, x), Tensor::of<double>({n}, target), weight}, {loss});
  return loss.values<double>()[0];
}

TEST(ReferenceLosses, HaveHandValues) {
  const LossSpec spec{2, 1, 2, DType::f64};
  EXPECT_NEAR(loss_of(make_sigmoid_cross_entropy(spec), {0, 800}, {1, 1}), std::log(2), 1e-12);
  EXPECT_NEAR(loss_of(make_hinge(spec), {0.25, -3}, {1, 0}), 0.75, 1e-12);
  EXPECT_NEAR(loss_of(make_squared_error(spec), {3, 1}, {1, 1}), 2, 1e-12);
}

TEST(ReferenceCountCorrect, LeavesPaddingOut) {
  const LossSpec spec{3, 2, 3, DType::f32, DType::i32};
  const Tensor x = Tensor::of<float>({3, 2}, {1, 0, 0, 1, 0, 1});
  const Tensor count(DType::f32, {});
  run_kernel(*make_count_correct(spec),
             {x, Tensor::of<std::int32_t>({3}, {0, 0, 1}), Tensor::of<float>({3}, {1, 1, 0})}, {count});
  EXPECT_EQ(count.values<float>()[0], 1);
}

TEST(ReferenceArgmax, TakesTheFirstOfEquals) {
  const Tensor index(DType::i32, {2});
  run_kernel(*make_argmax(rows(2, 3)), {Tensor::of<double>({2, 3}, {1, 2, 2, 5, 5, 5})}, {index});
  EXPECT_EQ(elements<std::int32_t>(index), (std::vector<std::int32_t>{1, 0}));
}

}  // namespace
}  // namespace hocket::reference
