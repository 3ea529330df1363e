#include "train/portion_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sync/lbfgs.h"

namespace hocket {
namespace {

struct Case {
  const char* model;
  const char* data;
  const char* dtype = "f64";
  double tolerance = 1e-12;
  double step = 1e-6;  // Of finite differences,
  double slope_tolerance = 1e-6;
};

TrainOptions options_of(const Case& at) {
  TrainOptions options;
  options.model = at.model;
  options.data = at.data;
  options.dtype = at.dtype;
  options.batch = 16;
  options.optimizer.weight_decay = 0.01;
  return options;
}

class PortionGradientTest : public testing::TestWithParam<Case> {
 protected:
  PortionGradientTest()
      : data(open_session_data(options_of(GetParam()))),
        options(with_defaults(options_of(GetParam()), data.train->info())) {}

  double evaluate(std::span<const double> point, int portions, std::vector<double>& gradient) {
    PortionGradient portion(options, *data.train, portions);
    std::vector<double> part(point.size());
    gradient.assign(point.size(), 0);
    double value = 0;
    for (int i = 0; i < portions; ++i) {
      value += portion.evaluate(point, i, part);
      for (std::size_t k = 0; k < part.size(); ++k) gradient[k] += part[k];
    }
    return value;
  }

  SessionData data;
  TrainOptions options;
};

TEST_P(PortionGradientTest, PortionsAddUpToTheWhole) {
  const std::vector<double> point = PortionGradient(options, *data.train, 1).initial_point();
  std::vector<double> whole, sum;
  const double value = evaluate(point, 1, whole);
  for (const int portions : {2, 3, 7}) {
    EXPECT_NEAR(evaluate(point, portions, sum), value, GetParam().tolerance * value) << portions;
    for (std::size_t i = 0; i < point.size(); ++i) {
      ASSERT_NEAR(sum[i], whole[i], GetParam().tolerance) << portions;
    }
  }
}

TEST_P(PortionGradientTest, IsTheSlopeOfTheValue) {
  std::vector<double> point = PortionGradient(options, *data.train, 1).initial_point();
  for (std::size_t i = 0; i < point.size(); ++i) point[i] += 0.01 * std::sin(static_cast<double>(i));
  std::vector<double> gradient, ignored;
  evaluate(point, 2, gradient);
  for (std::size_t i = 0; i < point.size(); i += 1 + point.size() / 9) {
    const double at = point[i];
    point[i] = at + GetParam().step;
    const double above = evaluate(point, 2, ignored);
    point[i] = at - GetParam().step;
    const double below = evaluate(point, 2, ignored);
    point[i] = at;
    if (above == below) continue;  // What pads the arena.
    EXPECT_NEAR((above - below) / (2 * GetParam().step), gradient[i], GetParam().slope_tolerance) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PortionGradientTest,
                         testing::Values(Case{"mlp,hidden=8", "synthetic:mnist,samples=60"},
                                         Case{"logreg", "synthetic:sparse,samples=100,features=50", "f32",
                                              1e-6, 1e-2, 1e-4}));

TEST(PortionGradient, LeadsLbfgsToTheMinimum) {
  const TrainOptions given = options_of({"logreg", "synthetic:sparse,samples=300,features=50", "f32"});
  const SessionData data = open_session_data(given);
  PortionGradient portion(with_defaults(given, data.train->info()), *data.train, 1);
  const std::vector<double> start = portion.initial_point();
  Lbfgs lbfgs({.tolerance = 1e-4});
  LocalVectors vectors(static_cast<std::int64_t>(start.size()), lbfgs_vectors(10));
  std::ranges::copy(start, vectors.at(kPoint).begin());
  minimize(lbfgs, vectors,
           [&](LocalVectors& at) { return portion.evaluate(at.at(kTrial), 0, at.at(kTrialGradient)); });
  EXPECT_EQ(lbfgs.state(), LbfgsState::converged);
  EXPECT_LT(lbfgs.iterations(), 60);
}

}  // namespace
}  // namespace hocket
