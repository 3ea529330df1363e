#include "train/step_recorder.h"

#include <algorithm>

#include "train/norms.h"
#include "train/straggler.h"

namespace hocket {

void StepRecorder::resume_at(std::int64_t step, std::int64_t samples) {
  last_.step = step;
  last_.samples = samples;
  last_ns_ = time_.trained_ns();
}

void StepRecorder::skip(const StepState& state) {
  last_ = state;
  last_ns_ = time_.trained_ns();
}

void StepRecorder::record(const StepState& state, Of whom) {
  double loss[] = {state.loss, static_cast<double>(state.loss_samples)};
  if (whom != Of::worker) team_.sum_along("dp", loss);
  if (whom == Of::all) team_.sum_along("pp", std::span(loss, 1));  // Only one stage's is not 0.
  const std::int64_t now = time_.trained_ns();
  StepRecord record;
  record.step = state.step;
  record.total_steps = options_.steps;
  record.epoch = state.epoch;
  record.loss = loss[0] / std::max(1.0, loss[1]);
  record.learning_rate = state.learning_rate;
  record.samples_per_second = static_cast<double>(state.samples - last_.samples) /
                              std::max(1e-9, 1e-9 * static_cast<double>(now - last_ns_));
  record.seconds = time_.trained();
  record.is_emulated = is_emulated(options_);
  if (options_.optimizer.clip > 0 && state.updated != nullptr) {
    record.gradient_norm = scalar_output(session_.program().training(), *state.updated, "gradient_norm");
  }
  if (options_.gradient_norms && whom != Of::replicas)
    record.gradient_norms = gradient_norms(session_, team_);
  record.tau = state.tau;
  skip(state);
  last_loss_ = record.loss;
  observer_.on_step(record);
}

}  // namespace hocket
