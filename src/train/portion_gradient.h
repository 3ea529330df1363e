#pragma once

#include <deque>
#include <span>
#include <vector>

#include "train/session.h"

namespace hocket {

// What a model loses over portions of its data, and the gradient of that, for L-BFGS: their sums over all
// portions are the mean loss of all samples and the L2 penalty. Portions are runs of samples in the order of
// the data set, computed a batch at a time. Points are all elements of the parameter arena. Used by one
// thread; the data must outlive it.
class PortionGradient {
 public:
  // `options` are with_defaults(). Throws ConfigError for a model whose gradients are not all dense.
  PortionGradient(const TrainOptions& options, const Dataset& data, int portions);

  std::vector<double> initial_point() const { return initial_; }
  // Leaves the portion's part of the gradient at `point` in `gradient`, and gives its part of the value.
  // Throws Error when that is not finite.
  double evaluate(std::span<const double> point, int portion, std::span<double> gradient);
  // The running statistics that so many batches, of samples from all over the data, leave at `point`.
  std::span<const std::byte> statistics(std::span<const double> point, std::int64_t batches);

 private:
  void set_parameters(std::span<const double> point);
  double run_batch(std::int64_t first, std::int64_t count);
  double run_forward(std::span<const std::int64_t> indices);
  double add_penalty(std::span<const double> point, std::span<double> gradient);

  const Dataset& data_;
  TrainOptions options_;
  int portions_;
  std::deque<Arena> arenas_;
  Team team_;
  Session session_;
  Slot slot_;
  Batch batch_;
  std::vector<std::int64_t> indices_;
  Tensor dloss_;
  std::int64_t key_[3] = {0, 0, 0};
  std::vector<double> initial_;
  std::vector<std::byte> initial_statistics_;
};

}  // namespace hocket
