#pragma once

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "base/rng.h"
#include "sync/sandblaster_coordinator.h"
#include "sync/sandblaster_worker.h"
#include "sync/vector_shard.h"

namespace hocket {

struct SandblasterWorldOptions {
  SandblasterOptions sandblaster{};
  std::int64_t length = 0;
  double portion_seconds = 0.01;   // Of a worker that is not slow.
  std::vector<double> slowness{};  // By worker; 1 where it ends.
  double latency = 1e-4;           // Of a message, at most; half of it at least.
  double loss = 0;                 // Share of the messages that never arrive,
  double duplication = 0;          // and of those that arrive twice.
  std::uint64_t seed = 1;
};

// Coordinator, servers and workers of Sandblaster in one process, under virtual time: for tests.
class SandblasterWorld {
 public:
  using Evaluate = std::function<double(std::span<const double> point, int portion, int portions,
                                        std::span<double> gradient)>;

  SandblasterWorld(const SandblasterWorldOptions& options, Evaluate evaluate)
      : options_(options), evaluate_(std::move(evaluate)), rng_({options.seed}) {
    const SandblasterOptions& nodes = options.sandblaster;
    std::vector<std::int64_t> lengths;
    lengths.reserve(static_cast<std::size_t>(nodes.servers));
    for (int i = 0; i < nodes.servers; ++i) {
      lengths.push_back(options.length * (i + 1) / nodes.servers - options.length * i / nodes.servers);
      shards_.push_back(
          std::make_unique<VectorShard>(lengths.back(), nodes.lbfgs.history, outbox(server_node(i))));
    }
    for (int i = 0; i < nodes.workers; ++i) {
      workers_.push_back(std::make_unique<SandblasterWorker>(kCoordinator, lengths, outbox(worker_node(i))));
      is_computing_.push_back(false);
    }
    coordinator_ = std::make_unique<SandblasterCoordinator>(nodes, outbox(kCoordinator));
  }

  // Until it is done, or at that time.
  void run(double until = 1e9) {
    coordinator_->start(now());
    tick();
    while (!events_.empty() && !coordinator_->is_done() && time_ < until) {
      const Event event = events_.top();
      events_.pop();
      time_ = event.time;
      event.action();
    }
  }

  // The worker never answers again.
  void kill(int worker, double at) {
    this->at(at, [this, worker] {
      dead_.push_back(worker);
      coordinator_->on_worker_lost(worker, now());
    });
  }

  const SandblasterCoordinator& coordinator() const { return *coordinator_; }
  VectorShard& shard(int server) { return *shards_[static_cast<std::size_t>(server)]; }
  double seconds() const { return time_; }
  std::vector<double> point() {
    std::vector<double> whole;
    for (const auto& shard : shards_) whole.insert(whole.end(), shard->point().begin(), shard->point().end());
    return whole;
  }

 private:
  struct Event {
    double time = 0;
    std::int64_t order = 0;
    std::function<void()> action;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  class NodeOutbox final : public SandblasterOutbox {
   public:
    NodeOutbox(SandblasterWorld& world, const NodeId& me) : world_(world), me_(me) {}
    void send(const NodeId& to, const SandblasterMessage& message) override { world_.post(me_, to, message); }

   private:
    SandblasterWorld& world_;
    NodeId me_;
  };

  TimePoint now() const {
    return TimePoint(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_)));
  }

  SandblasterOutbox& outbox(const NodeId& node) {
    return *outboxes_.emplace_back(std::make_unique<NodeOutbox>(*this, node));
  }

  void at(double time, std::function<void()> action) { events_.push({time, ++order_, std::move(action)}); }

  void post(const NodeId& from, const NodeId& to, const SandblasterMessage& message) {
    const std::vector<std::byte> bytes = encode(message);
    const int copies = rng_.uniform() < options_.loss ? 0 : rng_.uniform() < options_.duplication ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      at(time_ + options_.latency * rng_.uniform(0.5, 1),
         [this, from, to, bytes] { deliver(from, to, bytes); });
    }
  }

  void deliver(const NodeId& from, const NodeId& to, const std::vector<std::byte>& bytes) {
    const SandblasterMessage message = decode_sandblaster(bytes);
    if (to.kind == NodeKind::server)
      return shards_[static_cast<std::size_t>(to.index)]->on_message(from, message);
    if (to.kind == NodeKind::coordinator) return coordinator_->on_message(from, message, now());
    if (std::find(dead_.begin(), dead_.end(), to.index) != dead_.end()) return;
    workers_[static_cast<std::size_t>(to.index)]->on_message(from, message, now());
    compute_if_asked(to.index);
  }

  void compute_if_asked(int index) {
    const auto worker = static_cast<std::size_t>(index);
    if (workers_[worker]->need() != SandblasterWorker::Need::gradient || is_computing_[worker]) return;
    is_computing_[worker] = true;
    const double factor = worker < options_.slowness.size() ? options_.slowness[worker] : 1;
    at(time_ + factor * options_.portion_seconds, [this, index] { finish(index); });
  }

  void finish(int index) {
    const auto worker = static_cast<std::size_t>(index);
    is_computing_[worker] = false;
    const PortionTask task = workers_[worker]->task();
    std::vector<double> gradient(static_cast<std::size_t>(options_.length));
    const double value = evaluate_(workers_[worker]->point(), task.portion, task.portions, gradient);
    workers_[worker]->finish(value, gradient, now());
    compute_if_asked(index);
  }

  void tick() {
    coordinator_->on_time(now());
    for (const auto& worker : workers_) worker->on_time(now());
    at(time_ + 0.05, [this] { tick(); });
  }

  SandblasterWorldOptions options_;
  Evaluate evaluate_;
  Rng rng_;
  double time_ = 0;
  std::int64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<NodeOutbox>> outboxes_;
  std::vector<std::unique_ptr<VectorShard>> shards_;
  std::vector<std::unique_ptr<SandblasterWorker>> workers_;
  std::vector<bool> is_computing_;
  std::vector<int> dead_;
  std::unique_ptr<SandblasterCoordinator> coordinator_;
};

}  // namespace hocket
