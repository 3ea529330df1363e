#pragma once

#include <vector>

#include "train/session.h"

namespace hocket {

// L2 decay of the weights of a linear model on sparse rows, at the cost of the rows' entries: w is kept as
// s·v (Bottou, "Stochastic Gradient Descent Tricks", 5.1). The step w ← (1−ηλ)w − η·g is then s ← (1−ηλ)s and
// v ← v − η/s·g, and the entries of a batch, multiplied by s for the product and divided by it for the
// update, are all that the compiled step has to know. Used by one thread.
class LazyDecay {
 public:
  static constexpr double kThreshold = 1e-3;  // Below it, s is multiplied out: v must not lose its digits.

  // Whether a run's decay can be lazy: sgd in f32, of a linear model on sparse rows.
  static bool applies(const TrainOptions& options, const DataInfo& info);

  // Of a session that was made without decay, and must outlive it.
  LazyDecay(double decay, const DataInfo& info, Session& session);

  // Around a step: its parameters are v in between.
  void before_forward(const Batch& batch, Slot& slot);
  void before_update(double learning_rate, const Batch& batch);

  void settle();  // Makes the parameters w again.

 private:
  void scale_entries(const Batch& batch, double factor);

  double decay_;
  std::size_t values_;   // Fields of a batch.
  std::size_t offsets_;  // Where rows begin.
  Session& session_;
  std::vector<float> scaled_;
  double scale_ = 1;
};

}  // namespace hocket
