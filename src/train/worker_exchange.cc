#include "train/worker_exchange.h"

#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

constexpr Seconds kPatience{60};  // With a coordinator that is not there.
constexpr Seconds kFarewell{1};

}  // namespace

WorkerExchange::WorkerExchange(const WorkerOptions& options, NodeNetwork& network, WorkerMemory& memory,
                               const ClusterTiming& timing)
    : options_(options),
      network_(network),
      memory_(memory),
      timing_(timing),
      thread_([this](const std::stop_token& stop) {
        try {
          talk(stop);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          failure_ = std::current_exception();
        }
        changed_.notify_all();
      }) {}

WorkerExchange::~WorkerExchange() {
  thread_.request_stop();
  wake_.signal();
}

std::optional<Worker::Task> WorkerExchange::next() {
  const TimePoint start = Clock::now();
  std::unique_lock lock(mutex_);
  while (!task_ && !is_over_ && failure_ == nullptr) changed_.wait(lock);
  waited_ += Seconds(Clock::now() - start).count();
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (is_over_) return std::nullopt;
  is_computing_ = true;
  return std::exchange(task_, std::nullopt);
}

void WorkerExchange::finish(std::vector<Push> pushes) {
  {
    const std::lock_guard lock(mutex_);
    pushes_ = std::move(pushes);
  }
  wake_.signal();
}

void WorkerExchange::talk(const std::stop_token& stop) {
  Client client(worker_node(options_.worker), network_, timing_);
  Worker worker(options_, client, memory_);
  TimePoint heard = Clock::now();
  const auto deliver = [&](const NodeId& from, const Message& message) {
    if (from == kCoordinator) heard = Clock::now();
    client.on_message(from, message, Clock::now());
  };
  while (!stop.stop_requested()) {
    network_.poll(client.next_deadline(), deliver, wake_.fd());
    wake_.clear();
    const TimePoint now = Clock::now();
    if (now - heard > kPatience) {
      throw NetError("{}: the coordinator has not answered for {} s", to_string(worker_node(options_.worker)),
                     kPatience.count());
    }
    client.on_time(now);
    advance(worker, now);
    if (worker.need() == Worker::Need::nothing) break;
  }
  client.leave(Clock::now());
  network_.flush(after(kFarewell));
  const std::lock_guard lock(mutex_);
  is_over_ = true;
}

void WorkerExchange::advance(Worker& worker, TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    if (pushes_) {
      is_computing_ = false;
      for (Push& push : *pushes_) {
        push.account.bytes_moved += network_.traffic().bytes_sent;
        push.account.messages_sent = network_.traffic().messages_sent;
      }
      worker.finish(std::move(*pushes_), now);
      pushes_.reset();
    }
  }
  worker.advance(now);
  if (worker.need() != Worker::Need::gradient) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_computing_ || task_) return;
    task_ = worker.task();
    changed_.notify_all();
  }
  worker.pull_ahead(now);
}

}  // namespace hocket
