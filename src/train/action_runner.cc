#include "train/action_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "train/diagnose.h"

namespace hocket {
namespace {

Phase phase_of(const PipelineAction& action) {
  return action.kind == ActionKind::forward ? Phase::forward : Phase::backward;
}

}  // namespace

ActionRunner::ActionRunner(const TrainOptions& options, const PipelinePlan& plan, const DataInfo& info,
                           const LearningRate& rate, const Straggler& straggler, int replicas,
                           Session& session, Team& team, TimeAccount& time)
    : options_(options),
      plan_(plan),
      info_(info),
      rate_(rate),
      straggler_(straggler),
      replicas_(replicas),
      session_(session),
      team_(team),
      time_(time),
      micro_batches_(session, plan, team.share("pp").index, options.micro_batches),
      dloss_(options.dtype == "f64" ? DType::f64 : DType::f32, {}) {
  micro_batches_.bind_constants(dloss_.bytes().data(), reinterpret_cast<std::byte*>(&updating_));
}

void ActionRunner::begin_step(std::int64_t step, std::int64_t own_step) {
  hyper_ = hyper_at(options_.optimizer, rate_.at(step), own_step);
}

void ActionRunner::begin_batch(double weight) {
  set_dloss(weight);
  session_.refresh_copies();
  const std::span<std::byte> gradients = session_.memory().gradients.bytes();
  if (options_.micro_batches > 1) std::fill(gradients.begin(), gradients.end(), std::byte{0});
}

void ActionRunner::expect(std::span<const PipelineAction> actions) {
  if (plan_.ranks == 1) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, actions.size()); ++i) {
    if (actions[i].kind == ActionKind::update) continue;
    Slot& slot = micro_batches_.slot(actions[i]);
    if (i == 1 && actions[0].kind != ActionKind::update && &slot == &micro_batches_.slot(actions[0])) return;
    session_.program().training().post_receives(phase_of(actions[i]), slot, actions[i].chunk);
  }
}

void ActionRunner::perform(const PipelineAction& action, const BatchUnderWay& batch) {
  action.kind == ActionKind::update ? update(action, batch) : compute(action, batch);
}

void ActionRunner::compute(const PipelineAction& action, const BatchUnderWay& batch) {
  Executable& executable = session_.program().training();
  Slot& slot = micro_batches_.slot(action);
  const Bindings bindings = micro_batches_.bindings(action);
  const bool is_forward = action.kind == ActionKind::forward;
  const Activity activity = is_forward ? Activity::forward : Activity::backward;
  if (is_forward && action.chunk == 0)
    micro_batches_.bind(action, batch.index_of(action), info_, *batch.batch, options_.seed, batch.own_step);
  if (is_forward && hooks_.before_forward) hooks_.before_forward(*batch.batch, slot);
  if (plan_.is_stream())
    set_dloss(1.0 / static_cast<double>(samples_in(*batch.batch, batch.index_of(action))));
  if (plan_.ranks > 1) {
    const std::int64_t start = now_ns();
    executable.await_first(phase_of(action), slot, action.chunk);
    time_.add(activity, now_ns() - start);  // computed_ns() takes it out again.
    if (straggler_.is_active()) slow_down(action, batch);
  }
  const std::int64_t before = time_.computed_ns();
  time_.timed(activity, [&] { executable.run(phase_of(action), slot, bindings, nullptr, action.chunk); });
  action_ns_[is_forward ? 0 : 1] = time_.computed_ns() - before;
  if (is_forward && action.chunk + 1 == plan_.chunks) loss_ += checked_loss(slot, bindings, batch.step);
}

void ActionRunner::update(const PipelineAction& action, const BatchUnderWay& batch) {
  if (plan_.is_stream()) {
    micro_batches_.begin_version(action);
    const std::int64_t done = batch.step * options_.micro_batches + batch.index_of(action);
    hyper_ = hyper_at(options_.optimizer, rate_.at(batch.step), done);
  }
  if (hooks_.before_update) hooks_.before_update(action, batch);
  Slot& slot = micro_batches_.slot(action);
  const Bindings bindings = micro_batches_.bindings(action);
  updating_ = hyper_;
  Executable& executable = session_.program().training();
  time_.timed(Activity::update, [&] {
    is_late_ ? executable.update_late(slot, bindings) : executable.run(Phase::update, slot, bindings);
  });
  updated_ = &slot;
}

bool ActionRunner::can_update_late() const {
  return options_.micro_batches == 1 && session_.program().training().can_update_late();
}

void ActionRunner::settle() {
  time_.timed(Activity::update, [&] { session_.program().training().finish_update(); });
}

// Before an action of a pipeline, because the next stage goes on when its nodes have run; what these take is
// known from the last one. Backward is two thirds of the work.
void ActionRunner::slow_down(const PipelineAction& action, const BatchUnderWay& batch) {
  const bool is_forward = action.kind == ActionKind::forward;
  const double share = (is_forward ? 1.0 : 2.0) / (3.0 * batch.count * plan_.chunks);
  const double expected = 1e-9 * static_cast<double>(action_ns_[is_forward ? 0 : 1]);
  const double left = straggler_.seconds_left(batch.step, expected, share);
  time_.timed(Activity::emulate, [&] { std::this_thread::sleep_for(std::chrono::duration<double>(left)); });
}

// Of all replicas.
std::int64_t ActionRunner::samples_in(const Batch& batch, int micro_batch) const {
  std::int64_t sum = 0;
  for (int replica = 0; replica < replicas_; ++replica) {
    const std::int64_t own = rank_share({0, batch.global_count}, replica, replicas_).count;
    sum += std::clamp<std::int64_t>(own - micro_batch * session_.micro_batch(), 0, session_.micro_batch());
  }
  return std::max<std::int64_t>(1, sum);
}

void ActionRunner::set_dloss(double value) {
  if (dloss_.dtype() == DType::f64) {
    dloss_.values<double>()[0] = value;
  } else {
    dloss_.values<float>()[0] = static_cast<float>(value);
  }
}

double ActionRunner::checked_loss(Slot& slot, const Bindings& bindings, std::int64_t step) {
  Executable& executable = session_.program().training();
  const double loss = scalar_output(executable, slot, "loss");
  if (std::isfinite(loss)) [[likely]]
    return loss;
  const std::string culprit = first_bad_tensor(executable, slot, bindings);
  const std::string who = team_.is_alone() ? "" : fmt::format("rank {}: ", team_.rank());
  throw Error("{}step {}: {}: {} (learning rate {:.4g})", who, step + 1, kNotFinite, culprit, rate_.at(step));
}

}  // namespace hocket
