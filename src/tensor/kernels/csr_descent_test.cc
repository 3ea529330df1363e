#include "tensor/kernels/csr_descent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace hocket::kernel {
namespace {

// Three rows of four columns; the first two share column 1.
struct Rows {
  std::vector<float> values{1, 2, -1, 3, 1};
  std::vector<std::int32_t> columns{0, 1, 1, 2, 3};
  std::vector<std::int32_t> offsets{0, 2, 4, 5};
  std::vector<float> labels{1, 0, 1};

  LabelledRows view(std::int64_t first, std::int64_t count) const {
    return {values.data(), columns.data(), offsets.data() + first, labels.data() + first, count, 5};
  }
  std::vector<double> scores(const std::vector<float>& w, double bias) const {
    std::vector<double> scores;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      scores.push_back(bias);
      for (auto z = offsets[i]; z < offsets[i + 1]; ++z) {
        const auto at = static_cast<std::size_t>(z);
        scores.back() += static_cast<double>(values[at]) * w[static_cast<std::size_t>(columns[at])];
      }
    }
    return scores;
  }
};

double slope_of(LinearLoss loss, double x, double label) {
  if (loss == LinearLoss::logistic) return 1 / (1 + std::exp(-x)) - label;
  if (loss == LinearLoss::squared) return x - label;
  const double sign = 2 * label - 1;
  return 1 - sign * x > 0 ? -sign : 0;
}

TEST(CsrDescent, StepsByTheSummedGradientOfItsRows) {
  const Rows rows;
  for (const LinearLoss loss : {LinearLoss::logistic, LinearLoss::hinge, LinearLoss::squared}) {
    std::vector<float> w{0.1F, -0.2F, 0.3F, 0.4F};
    float bias = 0.05F;
    std::vector<double> expected(w.begin(), w.end());
    double expected_bias = bias;
    const std::vector<double> scores = rows.scores(w, bias);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double slope = slope_of(loss, scores[i], rows.labels[i]);
      expected_bias -= 0.5 * slope;
      for (auto z = rows.offsets[i]; z < rows.offsets[i + 1]; ++z) {
        const auto at = static_cast<std::size_t>(z);
        expected[static_cast<std::size_t>(rows.columns[at])] -= 0.5 * slope * rows.values[at];
      }
    }
    CsrDescent descent(loss, w, &bias);
    descent.begin();
    const DescentOutcome outcome = descent.observed_update(rows.view(0, 3), 0.5F);
    descent.end();
    EXPECT_EQ(outcome.writes, 5);
    EXPECT_EQ(outcome.conflicts, 0);
    EXPECT_NEAR(bias, expected_bias, 1e-6);
    for (std::size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(w[i], expected[i], 1e-6);
  }
}

TEST(CsrDescent, LossIsThatBeforeTheUpdate) {
  const Rows rows;
  std::vector<float> w(4, 0);
  CsrDescent descent(LinearLoss::logistic, w, nullptr);
  EXPECT_NEAR(descent.update(rows.view(0, 3), 0.5F), 3 * std::log(2.0), 1e-6);
  EXPECT_NEAR(w[3], 0.25, 1e-6);
  EXPECT_LT(descent.update(rows.view(2, 1), 0.5F), std::log(2.0));
}

TEST(CsrDescent, AddsToTheBiasThatOthersHaveChanged) {
  const Rows rows;
  std::vector<float> w(4, 0);
  float bias = 0;
  CsrDescent descent(LinearLoss::logistic, w, &bias);
  descent.begin();
  descent.update(rows.view(2, 1), 0.5F);
  bias = 10;
  descent.end();
  EXPECT_NEAR(bias, 10.25, 1e-6);
}

TEST(CsrDescent, ThreadsThatShareNoColumnLoseNothing) {
  const Rows rows;
  std::vector<float> together(4, 0), apart(4, 0);
  const auto repeat = [&](std::vector<float>& w, std::int64_t first, std::int64_t count) {
    CsrDescent descent(LinearLoss::squared, w, nullptr);
    for (int i = 0; i < 500; ++i) descent.update(rows.view(first, count), 0.01F);
  };
  {
    const std::jthread other([&] { repeat(together, 2, 1); });
    repeat(together, 0, 2);
  }
  repeat(apart, 0, 2);
  repeat(apart, 2, 1);
  EXPECT_EQ(together, apart);
}

}  // namespace
}  // namespace hocket::kernel
