#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sync/vectors.h"
#include "sync/wolfe_search.h"

namespace hocket {

// The vectors of L-BFGS; then come `history` steps and as many changes of the gradient.
inline constexpr VectorId kPoint = 0;
inline constexpr VectorId kGradient = 1;  // There.
inline constexpr VectorId kTrial = 2;
inline constexpr VectorId kTrialGradient = 3;
inline constexpr VectorId kDirection = 4;
inline constexpr int kMaxHistory = 100;
constexpr int lbfgs_vectors(int history) { return 5 + 2 * history; }

struct LbfgsOptions {
  int history = 10;
  int iterations = 100;
  double tolerance = 1e-8;  // Of the first gradient's norm: where that is left, it has converged.
  WolfeOptions search{};
};

enum class LbfgsState : std::uint8_t {
  running,
  converged,
  out_of_iterations,
  stalled  // No step along the steepest descent gives less: as low as rounding lets it.
};

// Minimises a smooth function with limited-memory BFGS, as a state machine that holds scalars alone. It asks
// for operations on vectors, which may lie anywhere, and for values; from their inner products it runs the
// two-loop recursion on coefficients. Deterministic. Used by one thread.
class Lbfgs {
 public:
  // Run `before`, which has no dots; evaluate the function at kTrial and its gradient to kTrialGradient, if
  // asked; run `after`.
  struct Request {
    std::vector<VectorOp> before{};
    bool evaluates = false;
    std::vector<VectorOp> after{};
  };

  explicit Lbfgs(const LbfgsOptions& options);  // From kPoint on.

  LbfgsState state() const { return state_; }
  const Request& request() const { return request_; }  // While it is running.
  void answer(double value, std::span<const double> dots);

  // In all; or after the present one, if they are more. One that had run out of iterations goes on.
  void end_after(int iterations);

  int iterations() const { return iterations_; }
  double value() const { return value_; }  // At kPoint.
  double gradient_norm() const;

 private:
  enum class Stage : std::uint8_t { start, search, update };

  VectorId step_vector(int slot) const { return static_cast<VectorId>(5 + slot); }
  VectorId change_vector(int slot) const { return static_cast<VectorId>(5 + options_.history + slot); }
  double& product(VectorId a, VectorId b);
  int free_slot();
  std::vector<VectorId> basis() const;

  void request_start();
  void request_trial(std::vector<VectorOp> before);
  void request_update();
  void take_products(std::span<const double> dots);
  void keep_pair();
  void begin_iteration();
  std::vector<double> direction();
  void search_along(const std::vector<double>& coefficients);
  void finish_search();
  void forget_history();

  LbfgsOptions options_;
  LbfgsState state_ = LbfgsState::running;
  Stage stage_ = Stage::start;
  Request request_;
  int iterations_ = 0;
  double value_ = 0;
  double trial_value_ = 0;
  double first_norm_ = 0;
  std::vector<int> slots_;        // Of the history, oldest first.
  int new_slot_ = 0;              // Of the pair that is being made.
  std::vector<double> products_;  // Of all pairs of vectors, where known.
  std::optional<WolfeSearch> search_;
};

std::vector<double> rounded(std::span<const WideSum> sums);

// Runs it on vectors that are all here: `evaluate` gives the value at kTrial and fills kTrialGradient.
void minimize(Lbfgs& lbfgs, LocalVectors& vectors, const std::function<double(LocalVectors&)>& evaluate);

}  // namespace hocket
