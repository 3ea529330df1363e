#include "sync/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <numeric>

#include "sync/test_logistic.h"

namespace hocket {
namespace {

using Vector = std::vector<double>;
using Function = std::function<double(std::span<const double> x, std::span<double> gradient)>;

double rosenbrock(std::span<const double> x, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double value = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double a = x[i + 1] - x[i] * x[i];
    const double b = 1 - x[i];
    value += 100 * a * a + b * b;
    gradient[i] += -400 * a * x[i] - 2 * b;
    gradient[i + 1] += 200 * a;
  }
  return value;
}

struct Minimization {
  Lbfgs lbfgs;
  LocalVectors vectors;

  Minimization(const LbfgsOptions& options, const Function& function, const Vector& start)
      : lbfgs(options), vectors(static_cast<std::int64_t>(start.size()), lbfgs_vectors(options.history)) {
    std::ranges::copy(start, vectors.at(kPoint).begin());
    minimize(lbfgs, vectors,
             [&](LocalVectors& at) { return function(at.at(kTrial), at.at(kTrialGradient)); });
  }
};

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void add(Vector& dst, double factor, const Vector& src) {
  for (std::size_t i = 0; i < dst.size(); ++i) dst[i] += factor * src[i];
}

// The two-loop recursion as in the book, on vectors.
Vector book_direction(const std::deque<std::pair<Vector, Vector>>& history, Vector q) {
  Vector alpha(history.size());
  for (std::size_t i = history.size(); i-- > 0;) {
    const auto& [s, y] = history[i];
    alpha[i] = dot(s, q) / dot(s, y);
    add(q, -alpha[i], y);
  }
  if (!history.empty()) {
    const auto& [s, y] = history.back();
    for (double& x : q) x *= dot(s, y) / dot(y, y);
  }
  for (std::size_t i = 0; i < history.size(); ++i) {
    const auto& [s, y] = history[i];
    add(q, alpha[i] - dot(y, q) / dot(s, y), s);
  }
  for (double& x : q) x = -x;
  return q;
}

Vector book_minimize(const Function& function, Vector x, int iterations, std::size_t memory) {
  std::deque<std::pair<Vector, Vector>> history;
  Vector gradient(x.size());
  double value = function(x, gradient);
  for (int i = 0; i < iterations; ++i) {
    const Vector direction = book_direction(history, gradient);
    const double first = history.empty() ? std::min(1.0, 1 / std::sqrt(dot(gradient, gradient))) : 1.0;
    WolfeSearch search(value, dot(direction, gradient), first);
    Vector trial, trial_gradient(x.size());
    do {
      trial = x;
      add(trial, search.trial(), direction);
      value = function(trial, trial_gradient);
    } while (!search.answer(value, dot(trial_gradient, direction)));
    Vector s = trial, y = trial_gradient;
    add(s, -1, x);
    add(y, -1, gradient);
    history.emplace_back(std::move(s), std::move(y));
    if (history.size() > memory) history.pop_front();
    x = trial;
    gradient = trial_gradient;
  }
  return x;
}

TEST(Lbfgs, FindsTheMinimumOfRosenbrocksFunction) {
  const Minimization run({.iterations = 500, .tolerance = 1e-10}, rosenbrock, Vector(10, -1.2));
  EXPECT_EQ(run.lbfgs.state(), LbfgsState::converged);
  EXPECT_LT(run.lbfgs.value(), 1e-12);
  EXPECT_LT(run.lbfgs.iterations(), 200);
}

TEST(Lbfgs, GoesOnAfterAPauseAsIfThereWereNone) {
  const Minimization whole({.iterations = 20}, rosenbrock, Vector(6, -1.2));
  Minimization parts({.iterations = 7}, rosenbrock, Vector(6, -1.2));
  EXPECT_EQ(parts.lbfgs.state(), LbfgsState::out_of_iterations);
  parts.lbfgs.end_after(20);
  EXPECT_EQ(parts.lbfgs.state(), LbfgsState::running);
  minimize(parts.lbfgs, parts.vectors,
           [](LocalVectors& at) { return rosenbrock(at.at(kTrial), at.at(kTrialGradient)); });
  EXPECT_EQ(parts.lbfgs.iterations(), 20);
  EXPECT_EQ(parts.lbfgs.value(), whole.lbfgs.value());
}

TEST(Lbfgs, TakesTheStepsOfTheTwoLoopRecursionOnVectors) {
  const Vector start(10, -1.2);
  for (const int iterations : {1, 2, 5, 12, 25, 40}) {
    for (const int history : {1, 3, 10}) {
      Minimization run({.history = history, .iterations = iterations, .tolerance = 0}, rosenbrock, start);
      const Vector expected = book_minimize(rosenbrock, start, iterations, static_cast<std::size_t>(history));
      for (std::size_t i = 0; i < start.size(); ++i) {
        EXPECT_NEAR(run.vectors.at(kPoint)[i], expected[i], 1e-6)
            << iterations << " steps, history " << history;
      }
    }
  }
}

TEST(Lbfgs, ConvergesOnLogisticRegression) {
  const TestLogistic problem = generated_logistic(500, 30, 1);
  const auto function = [&](std::span<const double> x, std::span<double> gradient) {
    return problem.evaluate_all(x, 4, gradient);
  };
  const Minimization run({}, function, Vector(30));
  EXPECT_EQ(run.lbfgs.state(), LbfgsState::converged);
  EXPECT_LT(run.lbfgs.iterations(), 60);
}

TEST(Lbfgs, EndsWhereRoundingLeavesNothingToGain) {
  const auto bowl = [](std::span<const double> x, std::span<double> gradient) {
    double value = 1e6;
    for (std::size_t i = 0; i < x.size(); ++i) {
      value += x[i] * x[i];
      gradient[i] = 2 * x[i];
    }
    return value;
  };
  const Minimization run({.iterations = 1000, .tolerance = 0}, bowl, Vector(5, 3.0));
  EXPECT_NE(run.lbfgs.state(), LbfgsState::running);
  EXPECT_NEAR(run.lbfgs.value(), 1e6, 1e-8);
}

TEST(Lbfgs, EndsOnAFunctionThatIsNotANumber) {
  const auto function = [](std::span<const double>, std::span<double> gradient) {
    std::fill(gradient.begin(), gradient.end(), std::nan(""));
    return std::nan("");
  };
  const Minimization run({}, function, Vector(3));
  EXPECT_EQ(run.lbfgs.state(), LbfgsState::stalled);
}

TEST(Lbfgs, KnowsWhenItStartsAtTheMinimum) {
  const Minimization run({}, rosenbrock, Vector(6, 1.0));
  EXPECT_EQ(run.lbfgs.state(), LbfgsState::converged);
  EXPECT_EQ(run.lbfgs.iterations(), 0);
}

}  // namespace
}  // namespace hocket
