#include "tensor/reference/update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/reference/run_kernel.h"

namespace hocket::reference {
namespace {

// One parameter and its state under a rule, all f64.
struct Trained {
  explicit Trained(UpdateSpec update, double weight) : spec(update), w(Tensor::of<double>({1}, {weight})) {
    spec.count = 1;
    spec.dtype = DType::f64;
    for (int i = 0; i < spec.slots(); ++i) state.emplace_back(DType::f64, Shape{1});
  }

  double step(double gradient, double rate) {
    ++steps;
    const double correction1 = 1 - std::pow(spec.beta1, steps), correction2 = 1 - std::pow(spec.beta2, steps);
    std::vector<Tensor> in{w, Tensor::of<double>({1}, {gradient}),
                           Tensor::of<double>({4}, {rate, correction1, correction2, 1})};
    in.insert(in.end(), state.begin(), state.end());
    run_kernel(*make_update(spec), in);
    return w.values<double>()[0];
  }

  UpdateSpec spec;
  Tensor w;
  std::vector<Tensor> state;
  int steps = 0;
};

UpdateSpec rule(UpdateRule rule, double decay = 0) {
  UpdateSpec spec;
  spec.rule = rule;
  spec.decay = decay;
  return spec;
}

TEST(ReferenceUpdate, SgdFollowsTheGradient) {
  EXPECT_NEAR(Trained(rule(UpdateRule::sgd), 1).step(0.5, 0.1), 0.95, 1e-15);
  EXPECT_NEAR(Trained(rule(UpdateRule::sgd, 0.2), 1).step(0.5, 0.1), 1 - 0.1 * 0.7, 1e-15);
}

TEST(ReferenceUpdate, MomentumKeepsNineTenthsOfItsVelocity) {
  Trained trained(rule(UpdateRule::momentum), 1);
  EXPECT_NEAR(trained.step(0.5, 0.1), 0.95, 1e-15);           // v = −0.05
  EXPECT_NEAR(trained.step(0.5, 0.1), 0.855, 1e-15);          // v = −0.045 − 0.05
  EXPECT_NEAR(trained.step(-1, 0.1), 0.855 + 0.0145, 1e-15);  // v = −0.0855 + 0.1
  EXPECT_NEAR(trained.state[0].values<double>()[0], 0.0145, 1e-15);
}

TEST(ReferenceUpdate, NesterovLooksAhead) {
  Trained trained(rule(UpdateRule::nesterov), 1);
  EXPECT_NEAR(trained.step(0.5, 0.1), 1 + 0.9 * -0.05 - 0.05, 1e-15);
  EXPECT_NEAR(trained.step(0.5, 0.1), 0.905 + 0.9 * -0.095 - 0.05, 1e-15);
}

TEST(ReferenceUpdate, AdagradDividesByTheRootOfAllSquares) {
  Trained trained(rule(UpdateRule::adagrad), 1);
  EXPECT_NEAR(trained.step(3, 0.1), 0.9, 1e-8);
  EXPECT_NEAR(trained.step(4, 0.1), 0.9 - 0.1 * 4 / 5, 1e-8);
}

TEST(ReferenceUpdate, AdamsFirstStepIsTheLearningRate) {
  EXPECT_NEAR(Trained(rule(UpdateRule::adam), 1).step(123, 0.1), 0.9, 1e-9);
  EXPECT_NEAR(Trained(rule(UpdateRule::adam), 1).step(-1e-3, 0.1), 1.1, 1e-5);
}

TEST(ReferenceUpdate, AdamRepeatsAHandComputedSecondStep) {
  Trained trained(rule(UpdateRule::adam), 0);
  trained.step(1, 0.1);
  const double m = (0.09 + 0.1 * 3) / (1 - 0.81), v = (0.999 * 0.001 + 0.001 * 9) / (1 - 0.999 * 0.999);
  EXPECT_NEAR(trained.step(3, 0.1), -0.1 - 0.1 * m / std::sqrt(v), 1e-8);
}

TEST(ReferenceUpdate, AdamwDecaysTheWeightItself) {
  EXPECT_NEAR(Trained(rule(UpdateRule::adamw, 0.5), 2).step(7, 0.1), 2 - 0.1 * 0.5 * 2 - 0.1, 1e-9);
}

TEST(ReferenceUpdate, ScaleAndDivisorApplyBeforeDecay) {
  UpdateSpec spec = rule(UpdateRule::sgd, 0.5);
  spec.count = 1;
  spec.has_scale = true;
  const Tensor w = Tensor::of<float>({1}, {4});
  run_kernel(*make_update(spec), {w, Tensor::of<float>({1}, {6}), Tensor::of<double>({4}, {1, 1, 1, 3}),
                                  Tensor::of<float>({}, {0.5F})});
  EXPECT_FLOAT_EQ(w.values<float>()[0], 4 - (6 * 0.5F / 3 + 0.5F * 4));
}

TEST(ReferenceUpdate, RowsTouchNothingElse) {
  UpdateSpec spec = rule(UpdateRule::momentum);
  spec.count = 8;
  spec.rows = 3;
  spec.width = 2;
  const Tensor w(DType::f32, {4, 2}), v(DType::f32, {4, 2});
  run_kernel(*make_update(spec),
             {w, Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), Tensor::of<std::int32_t>({3}, {1, 9, -1}),
              Tensor::of<double>({4}, {1, 1, 1, 1}), v});
  EXPECT_EQ(elements<float>(w), (std::vector<float>{0, 0, -1, -2, 0, 0, 0, 0}));
  EXPECT_EQ(elements<float>(v), elements<float>(w));
}

TEST(ReferenceClipScale, ScalesDownToTheMaximum) {
  const std::vector<Tensor> squares{Tensor::of<double>({1}, {9}), Tensor::of<double>({1}, {16})};
  const Tensor scale(DType::f32, {}), norm(DType::f32, {});
  const auto clip = [&](double max) {
    run_kernel(*make_clip_scale({{1, 1}, max}), squares, {scale, norm});
    EXPECT_FLOAT_EQ(norm.values<float>()[0], 5);
    return scale.values<float>()[0];
  };
  EXPECT_FLOAT_EQ(clip(1), 0.2F);
  EXPECT_FLOAT_EQ(clip(5), 1);
  EXPECT_FLOAT_EQ(clip(50), 1);
  EXPECT_FLOAT_EQ(clip(0), 1);
}

TEST(ReferenceAccumulate, AddsInPlace) {
  const Tensor sum = Tensor::of<float>({2}, {1, 2});
  run_kernel(*make_accumulate({2, DType::f32}), {sum, Tensor::of<float>({2}, {10, 20})});
  EXPECT_EQ(elements<float>(sum), (std::vector<float>{11, 22}));
}

}  // namespace
}  // namespace hocket::reference
