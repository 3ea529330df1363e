#include "sync/vector_shard.h"

#include <algorithm>

namespace hocket {
namespace {

Payload payload_of(std::span<const double> values) { return Payload::copy_of(std::as_bytes(values)); }

}  // namespace

VectorShard::VectorShard(std::int64_t length, int history, SandblasterOutbox& out)
    : vectors_(length, lbfgs_vectors(history)), out_(out) {}

void VectorShard::on_message(const NodeId& from, const SandblasterMessage& message) {
  std::visit([&](const auto& body) { on_body(from, body); }, message);
}

void VectorShard::on_body(const NodeId& from, const VectorBatch& batch) {
  if (batch.sequence == last_.sequence + 1 && batch.portions >= 0 && vectors_.fits(batch.ops)) {
    last_ = {batch.sequence, vectors_.run(batch.ops)};
    has_begun_ = true;
    if (batch.portions > 0) {
      evaluation_ = batch.evaluation;
      portions_ = batch.portions;
      next_portion_ = 0;
      waiting_.clear();
      std::ranges::fill(vectors_.at(kTrialGradient), 0.0);
    }
  }
  if (batch.sequence == last_.sequence) out_.send(from, last_);
}

void VectorShard::on_body(const NodeId& from, const PointRequest& request) {
  if (request.evaluation == 0) {
    out_.send(from, PointReply{0, false, payload_of(vectors_.at(kPoint))});
  } else if (request.evaluation < evaluation_) {
    out_.send(from, PointReply{request.evaluation, true, {}});
  } else if (request.evaluation == evaluation_) {
    out_.send(from, PointReply{request.evaluation, false, payload_of(vectors_.at(kTrial))});
  }
}

bool VectorShard::is_new(const PortionPush& push) const {
  return push.evaluation == evaluation_ && push.portion >= next_portion_ && !waiting_.contains(push.portion);
}

void VectorShard::on_body(const NodeId& from, const PortionPush& push) {
  const bool is_sound = push.evaluation > 0 && push.evaluation <= evaluation_ && push.portion >= 0 &&
                        push.portion < portions_ &&
                        push.gradient.values<double>().size() == static_cast<std::size_t>(vectors_.length());
  if (!is_sound) return;
  if (is_new(push)) {
    ++portions_counted_;
    waiting_.emplace(push.portion,
                     push.gradient.owner ? push.gradient : Payload::copy_of(push.gradient.bytes));
    add_waiting();
  } else {
    ++portions_ignored_;
  }
  out_.send(from, PortionPushDone{push.evaluation, push.portion});
}

void VectorShard::add_waiting() {
  const std::span<double> sum = vectors_.at(kTrialGradient);
  while (!waiting_.empty() && waiting_.begin()->first == next_portion_) {
    const auto gradient = waiting_.begin()->second.values<double>();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    waiting_.erase(waiting_.begin());
    ++next_portion_;
  }
}

void VectorShard::on_body(const NodeId& from, const PointInit& init) {
  const auto values = init.values.values<double>();
  if (values.size() != static_cast<std::size_t>(vectors_.length())) return;
  if (!has_begun_) std::ranges::copy(values, vectors_.at(kPoint).begin());
  out_.send(from, PointInitDone{});
}

}  // namespace hocket
