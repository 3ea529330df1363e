#include "train/server_worker.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "net/log.h"
#include "ps/node_network.h"
#include "sync/discipline.h"
#include "tensor/kernels/threads.h"
#include "train/model_ranges.h"
#include "train/slice_gradient.h"
#include "train/worker_exchange.h"

namespace hocket {
namespace {

// A whole replica of its own, with the share of a batch that one worker computes.
TrainOptions of_one_worker(const TrainOptions& options) {
  TrainOptions own = options;
  own.batch = (options.batch + options.workers - 1) / options.workers;
  own.mesh.clear();
  return own;
}

class ServerWorker final : public WorkerMemory {
 public:
  ServerWorker(const TrainOptions& given, const NodePlace& place)
      : data_(open_session_data(given)),
        options_(with_defaults(given, data_.train->info())),
        own_(of_one_worker(options_)),
        discipline_(Discipline::parse(options_.sync)),
        place_(place),
        network_(network_options(), log_to_stderr()),
        session_(
            own_, data_.train->info(), team_, [&](std::size_t bytes) { return allocate(bytes); },
            discipline_.push_every > 1),
        gradient_(options_, *data_.train, session_, options_.workers, discipline_.push_every > 1),
        ranges_(model_ranges(session_.program().layouts(), options_.optimizer, options_.servers)),
        changes_(allocate(session_.memory().buffers.size())) {
    // A slice that is taken over needs the values of the batch before while those of the next arrive range by
    // range.
    if (worker_options().takes_over) landing_ = allocate(session_.memory().parameters.size());
  }

  void run() {
    WorkerExchange exchange(worker_options(), network_, *this);
    while (const std::optional<Worker::Task> task = exchange.next()) {
      const TimePoint start = Clock::now();
      restore_statistics();
      const SliceGradient::Outcome outcome = gradient_.compute(task->slice, task->clock, task->adds);
      computed_ += Seconds(Clock::now() - start).count();
      exchange.finish(task->is_pushed ? pushes(outcome, exchange.waited()) : std::vector<Push>());
    }
  }

  Payload ids(RangeId, int, std::int64_t) override { return {}; }

  std::uint64_t destination(RangeId range) override {
    return options_.replicas > 1 ? 0 : network_.destination_of(landing_of(at(range)).data());
  }

  // In the thread of the exchange, while nothing is computed.
  void take(const PullDone& pulled) override {
    const ModelRange& range = at(pulled.range);
    const std::span<std::byte> own = bytes_of(range);
    const std::span<const std::byte> values =
        pulled.destination == 0 ? pulled.values.bytes : landing_of(range);
    if (values.size() != own.size()) {
      throw NetError("range {} came with {} bytes instead of {}", pulled.range, values.size(), own.size());
    }
    if (values.data() != own.data()) std::memcpy(own.data(), values.data(), own.size());
    if (range.role == Role::buffer) statistics_.assign(own.begin(), own.end());
  }

 private:
  NodeNetworkOptions network_options() const {
    std::size_t bytes = 0;
    const std::unique_ptr<Graph> model = build_batch_model(own_, data_.train->info(), Mesh());
    for (const Role role : {Role::parameter, Role::buffer}) bytes += ArenaLayout(*model, role).bytes();
    bytes *= 3;  // With gradients, what lands, and changes of statistics.
    return {place_.me, place_.key, place_.coordinator, place_.plaintext, bytes + 5 * kAlignment};
  }

  // Of the memory that servers of this host see.
  std::span<std::byte> allocate(std::size_t bytes) {
    const std::span<std::byte> part = network_.memory().subspan(used_, bytes);
    used_ += align_up(bytes);
    return part;
  }

  WorkerOptions worker_options() const {
    WorkerOptions options;
    options.worker = place_.me.index;
    options.workers = options_.workers;
    options.batches = options_.steps;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (ranges_[i].bytes > 0) options.ranges.push_back(static_cast<RangeId>(i));
    }
    return hocket::worker_options(discipline_, options);
  }

  const ModelRange& at(RangeId range) const { return ranges_.at(static_cast<std::size_t>(range)); }

  std::span<std::byte> bytes_of(const ModelRange& range) {
    const Arena& arena =
        range.role == Role::buffer ? session_.memory().buffers : session_.memory().parameters;
    return arena.bytes().subspan(range.offset, range.bytes);
  }

  // Where the servers put the values of a range.
  std::span<std::byte> landing_of(const ModelRange& range) {
    if (landing_.empty() || range.role == Role::buffer) return bytes_of(range);
    return landing_.subspan(range.offset, range.bytes);
  }

  // Running statistics go on from what was pulled, whatever was computed since.
  void restore_statistics() {
    std::copy(statistics_.begin(), statistics_.end(), session_.memory().buffers.bytes().begin());
  }

  // What this slice adds to the average of all.
  template <typename T>
  void find_changes() {
    const auto share = static_cast<T>(1.0 / options_.workers);
    const std::size_t count = statistics_.size() / sizeof(T);
    const auto* before = reinterpret_cast<const T*>(statistics_.data());
    const auto* after = reinterpret_cast<const T*>(session_.memory().buffers.data());
    auto* change = reinterpret_cast<T*>(changes_.data());
    for (std::size_t i = 0; i < count; ++i) change[i] = share * (after[i] - before[i]);
  }

  std::vector<Push> pushes(const SliceGradient::Outcome& outcome, double waited) {
    if (ranges_.back().spec.dtype == DType::f64) {
      find_changes<double>();
    } else {
      find_changes<float>();
    }
    std::vector<Push> pushes;
    for (const ModelRange& range : ranges_) {
      if (range.bytes == 0) continue;
      Push push;
      const std::span<const std::byte> all = range.role == Role::buffer ? std::span<const std::byte>(changes_)
                                                                        : session_.memory().gradients.bytes();
      push.values.bytes = all.subspan(range.offset, range.bytes);
      push.loss = outcome.loss;
      push.samples = outcome.samples;
      push.compute_seconds = computed_;
      push.wait_seconds = waited;
      pushes.push_back(std::move(push));
    }
    return pushes;
  }

  SessionData data_;
  TrainOptions options_;
  TrainOptions own_;
  Discipline discipline_;
  NodePlace place_;
  NodeNetwork network_;
  std::size_t used_ = 0;
  Team team_;
  Session session_;
  SliceGradient gradient_;
  std::vector<ModelRange> ranges_;
  std::span<std::byte> landing_;       // Empty: the parameters themselves.
  std::span<std::byte> changes_;       // Of the statistics by this slice, for the servers.
  std::vector<std::byte> statistics_;  // As they were pulled.
  double computed_ = 0;
};

}  // namespace

void work_for_servers(const TrainOptions& options, const NodePlace& place) {
  kernel::set_num_threads(std::max(1, options.threads));
  ServerWorker(options, place).run();
}

}  // namespace hocket
