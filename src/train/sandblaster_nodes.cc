#include "train/sandblaster_nodes.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/error.h"
#include "net/log.h"
#include "sync/discipline.h"
#include "sync/sandblaster_coordinator.h"
#include "sync/sandblaster_worker.h"
#include "sync/vector_shard.h"
#include "tensor/kernels/threads.h"
#include "train/portion_gradient.h"
#include "train/sandblaster_parcels.h"
#include "train/straggler.h"

namespace hocket {
namespace {

constexpr Seconds kAnswerLook{0.05};  // For `stop`, and for what was not answered.
constexpr double kToleranceF32 = 1e-5;

// Calls `on_message(from, message)` for what comes, and `on_time()` often.
template <typename OnMessage, typename OnTime>
void run_until(const std::atomic<bool>& stop, SandblasterParcels& parcels, const OnMessage& on_message,
               const OnTime& on_time) {
  while (!stop.load()) {
    for (const auto& [from, message] : parcels.receive(after(kAnswerLook))) on_message(from, message);
    on_time();
  }
}

// Any batch does, but it must not depend on the number of workers, or so would the bits.
TrainOptions of_any_worker(const TrainOptions& given, const DataInfo& info) {
  TrainOptions options = with_defaults(given, info);
  options.workers = 1;
  return options;
}

SandblasterOptions coordinator_options(const TrainOptions& options) {
  const Discipline discipline = Discipline::parse(options.sync);
  SandblasterOptions coordinating;
  coordinating.servers = options.servers;
  coordinating.workers = options.workers;
  coordinating.portions = discipline.portions;
  coordinating.lbfgs.history = discipline.history;
  if (options.dtype != "f64") coordinating.lbfgs.tolerance = kToleranceF32;
  return coordinating;
}

// Which workers have a connection to the coordinator: whose ends is lost, until it comes back.
class WorkerLines {
 public:
  WorkerLines(const NodeNetwork& network, int workers)
      : network_(network), states_(static_cast<std::size_t>(workers), State::expected) {}

  bool have_all_come() const {
    return std::find(states_.begin(), states_.end(), State::expected) == states_.end();
  }

  void look(SandblasterCoordinator& coordinator) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const auto worker = static_cast<int>(i);
      const bool is_here = network_.has_line_to(worker_node(worker));
      if (states_[i] == State::here && !is_here) {
        states_[i] = State::lost;
        coordinator.on_worker_lost(worker, Clock::now());
      } else if (states_[i] == State::lost && is_here) {
        states_[i] = State::here;
        coordinator.on_worker_joined(worker, Clock::now());
      } else if (is_here) {
        states_[i] = State::here;
      }
    }
  }

 private:
  enum class State : std::uint8_t { expected, here, lost };

  const NodeNetwork& network_;
  std::vector<State> states_;
};

class PortionWorker {
 public:
  PortionWorker(const TrainOptions& given, const NodePlace& place)
      : data_(open_session_data(given)),
        portions_(Discipline::parse(given.sync).portions),
        gradient_(of_any_worker(given, data_.train->info()), *data_.train, portions_),
        straggler_(given, place.me.index, given.workers),
        network_(network_at(place), log_to_stderr()),
        parcels_(network_),
        sums_(gradient_.initial_point().size()),
        worker_(kCoordinator, sandblaster_lengths(static_cast<std::int64_t>(sums_.size()), given.servers),
                parcels_) {}

  void run(const std::atomic<bool>& stop) {
    const auto on_message = [&](const NodeId& from, const SandblasterMessage& message) {
      worker_.on_message(from, message, Clock::now());
    };
    const auto on_time = [&] {
      parcels_.call_coordinator();
      worker_.on_time(Clock::now());
      if (worker_.need() == SandblasterWorker::Need::gradient) compute();
    };
    run_until(stop, parcels_, on_message, on_time);
  }

 private:
  void compute() {
    const PortionTask task = worker_.task();
    if (task.portions != portions_ || task.portion < 0 || task.portion >= portions_)
      throw NetError("the coordinator asks for portion {} of {}", task.portion, task.portions);
    const TimePoint start = Clock::now();
    const double value = gradient_.evaluate(worker_.point(), task.portion, sums_);
    if (straggler_.is_active()) {
      const double computed = Seconds(Clock::now() - start).count();
      std::this_thread::sleep_for(Seconds(straggler_.seconds_left(task.serial, computed)));
    }
    worker_.finish(value, sums_, Clock::now());
  }

  SessionData data_;
  int portions_;
  PortionGradient gradient_;
  Straggler straggler_;
  NodeNetwork network_;
  SandblasterParcels parcels_;
  std::vector<double> sums_;
  SandblasterWorker worker_;
};

}  // namespace

// How long its range is, it hears with the point to start from.
void run_sandblaster_server(const TrainOptions& options, const NodePlace& place,
                            const std::atomic<bool>& stop) {
  const int history = Discipline::parse(options.sync).history;
  NodeNetwork network(network_at(place), log_to_stderr());
  SandblasterParcels parcels(network);
  std::optional<VectorShard> shard;
  const auto on_message = [&](const NodeId& from, const SandblasterMessage& message) {
    if (const auto* init = std::get_if<PointInit>(&message); init != nullptr && !shard) {
      const std::size_t length = init->values.values<double>().size();
      shard.emplace(static_cast<std::int64_t>(length), history, parcels);
    }
    if (shard) shard->on_message(from, message);
  };
  run_until(stop, parcels, on_message, [&] { parcels.call_coordinator(); });
}

void run_sandblaster_coordinator(const TrainOptions& options, const NodePlace& place,
                                 const std::atomic<bool>& stop) {
  NodeNetwork network(network_at(place), log_to_stderr());
  SandblasterParcels parcels(network);
  SandblasterCoordinator coordinator(coordinator_options(options), parcels);
  WorkerLines lines(network, options.workers);
  const auto on_message = [&](const NodeId& from, const SandblasterMessage& message) {
    const bool waits = std::holds_alternative<ProgressRequest>(message) && !lines.have_all_come();
    if (!waits) coordinator.on_message(from, message, Clock::now());
  };
  const auto on_time = [&] {
    lines.look(coordinator);
    coordinator.on_time(Clock::now());
  };
  run_until(stop, parcels, on_message, on_time);
}

void work_for_sandblaster(const TrainOptions& options, const NodePlace& place,
                          const std::atomic<bool>& stop) {
  kernel::set_num_threads(std::max(1, options.threads));
  PortionWorker(options, place).run(stop);
}

}  // namespace hocket
