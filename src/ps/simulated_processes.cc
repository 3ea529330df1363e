#include "ps/simulated_processes.h"

namespace hocket {

WorkerProcess::WorkerProcess(const WorkerOptions& options, int ranges, const ClusterTiming& timing,
                             SharedGradients& gradients, std::uint64_t& last_id, Compute compute,
                             SimulatedOutbox::Send send)
    : gradients_(gradients),
      ranges_(ranges),
      last_id_(last_id),
      compute_(std::move(compute)),
      out_(worker_node(options.worker), std::move(send)),
      client_(worker_node(options.worker), out_, timing),
      worker_(options, client_, *this) {}

void WorkerProcess::on_message(const NodeId& from, const Message& message, TimePoint now) {
  client_.on_message(from, message, now);
  advance(now);
}

void WorkerProcess::on_time(TimePoint now) {
  client_.on_time(now);
  advance(now);
}

std::span<std::array<std::uint64_t, 2>> WorkerProcess::gradients() {
  const auto count = static_cast<std::size_t>(ranges_);
  return std::span(gradients_).subspan(static_cast<std::size_t>(turn_) * count % gradients_.size(), count);
}

// What was in the gradients may go as soon as the next computation begins.
void WorkerProcess::advance(TimePoint now) {
  if (is_computing_) return;
  worker_.advance(now);
  if (worker_.need() != Worker::Need::gradient) return;
  is_computing_ = true;
  ++turn_;
  for (auto& gradient : gradients()) gradient = {0, 0};
  compute_(worker_.task());
  worker_.pull_ahead(now);
}

void WorkerProcess::on_gradient(TimePoint now) {
  is_computing_ = false;
  std::vector<Push> pushes;
  if (worker_.task().is_pushed) {
    const auto own = gradients();
    pushes.resize(own.size());
    for (std::size_t range = 0; range < own.size(); ++range) {
      own[range] = LedgerStore::gradient(++last_id_);
      pushes[range].values.bytes = std::as_bytes(std::span(own[range]));
      pushes[range].samples = 1;
    }
  }
  worker_.finish(std::move(pushes), now);
  advance(now);
}

RecorderProcess::RecorderProcess(std::int64_t batches, const ClusterTiming& timing,
                                 SimulatedOutbox::Send send)
    : batches_(batches), out_(kRecorder, std::move(send)), client_(kRecorder, out_, timing) {}

void RecorderProcess::on_message(const NodeId& from, const Message& message, TimePoint now) {
  client_.on_message(from, message, now);
  go_on(now);
}

void RecorderProcess::on_time(TimePoint now) {
  client_.on_time(now);
  go_on(now);
}

void RecorderProcess::go_on(TimePoint now) {
  if (client_.view().epoch == 0) return;
  if (!has_begun_) {
    has_begun_ = true;
    for (RangeId range = 0; range < client_.ranges(); ++range) {
      client_.change(range, Init{}, now);
      client_.pull(range, batches_, {}, 0, false, now);
    }
  }
  for (RangeId range = 0; range < client_.ranges(); ++range)
    finished_ += client_.take_pull(range).has_value();
  if (finished_ == client_.ranges() && !is_over()) out_.send(kCoordinator, Stop{});
}

}  // namespace hocket
