#include "train/sandblaster_nodes.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "base/error.h"
#include "net/log.h"
#include "sync/sandblaster_coordinator.h"
#include "sync/sandblaster_worker.h"
#include "sync/vector_shard.h"
#include "tensor/kernels/threads.h"
#include "train/portion_gradient.h"
#include "train/sandblaster_parcels.h"
#include "train/straggler.h"

namespace hocket {
namespace {

constexpr Seconds kLook{0.05};  // For `stop`, and for what was not answered.
constexpr double kToleranceF32 = 1e-5;

NodeNetworkOptions network_at(const NodePlace& place) {
  return {place.me, place.key, place.coordinator, place.plaintext, 0};
}

// Calls `on_message(from, message)` for what comes, and `on_time()` often.
template <typename OnMessage, typename OnTime>
void run_until(const std::atomic<bool>& stop, NodeNetwork& network, const OnMessage& on_message,
               const OnTime& on_time) {
  const auto deliver = [&](const NodeId& from, const Message& message) {
    if (const auto opened = SandblasterParcels::open(message)) on_message(from, *opened);
  };
  while (!stop.load()) {
    network.poll(after(kLook), deliver);
    on_time();
  }
}

class PortionWorker {
 public:
  PortionWorker(const TrainOptions& given, const NodePlace& place)
      : data_(open_session_data(given)),
        options_(with_defaults(given, data_.train->info())),
        portions_(kPortionsPerWorker * options_.workers),
        gradient_(options_, *data_.train, portions_),
        straggler_(options_, place.me.index, options_.workers),
        network_(network_at(place), log_to_stderr()),
        parcels_(network_),
        sums_(gradient_.initial_point().size()),
        worker_(kCoordinator, sandblaster_lengths(static_cast<std::int64_t>(sums_.size()), options_.servers),
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
    run_until(stop, network_, on_message, on_time);
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
  TrainOptions options_;
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
void run_sandblaster_server(const NodePlace& place, const std::atomic<bool>& stop) {
  NodeNetwork network(network_at(place), log_to_stderr());
  SandblasterParcels parcels(network);
  std::optional<VectorShard> shard;
  const auto on_message = [&](const NodeId& from, const SandblasterMessage& message) {
    if (const auto* init = std::get_if<PointInit>(&message); init != nullptr && !shard) {
      const std::size_t length = init->values.values<double>().size();
      shard.emplace(static_cast<std::int64_t>(length), LbfgsOptions().history, parcels);
    }
    if (shard) shard->on_message(from, message);
  };
  run_until(stop, network, on_message, [&] { parcels.call_coordinator(); });
}

void run_sandblaster_coordinator(const TrainOptions& options, const NodePlace& place,
                                 const std::atomic<bool>& stop) {
  NodeNetwork network(network_at(place), log_to_stderr());
  SandblasterParcels parcels(network);
  SandblasterOptions coordinating;
  coordinating.servers = options.servers;
  coordinating.workers = options.workers;
  if (options.dtype != "f64") coordinating.lbfgs.tolerance = kToleranceF32;
  SandblasterCoordinator coordinator(coordinating, parcels);
  const auto on_message = [&](const NodeId& from, const SandblasterMessage& message) {
    coordinator.on_message(from, message, Clock::now());
  };
  run_until(stop, network, on_message, [&] { coordinator.on_time(Clock::now()); });
}

void work_for_sandblaster(const TrainOptions& options, const NodePlace& place,
                          const std::atomic<bool>& stop) {
  kernel::set_num_threads(std::max(1, options.threads));
  PortionWorker(options, place).run(stop);
}

}  // namespace hocket
