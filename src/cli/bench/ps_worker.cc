#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "cli/bench/ps_setup.h"
#include "net/log.h"
#include "ps/node_network.h"
#include "sync/discipline.h"
#include "tensor/arena.h"
#include "train/batch_rows.h"
#include "train/worker_exchange.h"

namespace hocket {
namespace {

constexpr int kBatches = 16;                            // Of ids, taken by turns.
constexpr std::uint64_t kIds = std::uint64_t{1} << 20;  // To choose from.

// The rows of a batch by server.
using BatchIds = std::vector<std::vector<std::uint64_t>>;

BatchIds random_ids(const PsSetup& setup, Rng& rng) {
  BatchIds ids(static_cast<std::size_t>(setup.servers));
  std::set<std::uint64_t> chosen;
  while (chosen.size() < std::min<std::size_t>(setup.keys(), kIds / 2)) chosen.insert(rng.below(kIds));
  for (const std::uint64_t id : chosen)
    ids[static_cast<std::size_t>(server_of_id(id, setup.servers))].push_back(id);
  return ids;
}

// A worker without a model: its gradients and values lie in the memory that servers of this host see, as
// those of a run do.
class PsWorker final : public WorkerMemory {
 public:
  PsWorker(const PsSetup& setup, const NodePlace& place)
      : setup_(setup), place_(place), network_(network_at(place, 2 * half()), log_to_stderr()) {
    auto* numbers = reinterpret_cast<float*>(network_.memory().data());
    std::fill(numbers, numbers + network_.memory().size() / sizeof(float), 1e-3F);
    Rng rng{static_cast<std::uint64_t>(place.me.index)};
    for (int i = 0; i < kBatches && setup.kind == PsKind::sparse; ++i) ids_.push_back(random_ids(setup, rng));
  }

  // Answers each number of seconds that it reads with the steps that it made in them, and how long they took.
  void run() {
    WorkerExchange exchange(worker_options(), network_, *this);
    step_ = next(exchange);
    std::cout << "ready" << std::endl;
    for (double seconds = 0; std::cin >> seconds;) {
      const TimePoint start = Clock::now();
      std::int64_t steps = 0;
      for (; Clock::now() - start < Seconds(seconds); ++steps) {
        exchange.finish(pushes());
        step_ = next(exchange);
      }
      std::cout << fmt::format("{} {}", steps, Seconds(Clock::now() - start).count()) << std::endl;
    }
  }

  Payload ids(RangeId range, int /*slice*/, std::int64_t clock) override {
    if (setup_.kind == PsKind::dense) return {};
    return Payload::copy_of(std::as_bytes(std::span(ids_of(range, clock))));
  }

  std::uint64_t destination(RangeId range) override {
    const bool is_written_here = setup_.replicas == 1 && setup_.kind == PsKind::dense;
    return is_written_here ? network_.destination_of(values(range, 0).data()) : 0;
  }

  void take(const PullDone& pulled, int, std::int64_t) override {
    if (pulled.destination != 0) return;
    const std::span<const std::byte> bytes = pulled.values.bytes;
    std::copy(bytes.begin(), bytes.end(), values(pulled.range, bytes.size()).begin());
  }

 private:
  std::size_t half() const { return static_cast<std::size_t>(setup_.servers) * stride(); }
  // Room for what a server has, whatever of a batch that is.
  std::size_t stride() const {
    return align_up(setup_.kind == PsKind::dense ? setup_.range_bytes(setup_.servers - 1) + kAlignment
                                                 : setup_.bytes);
  }
  std::span<std::byte> part(std::size_t begin, RangeId range, std::size_t bytes) const {
    return network_.memory().subspan(begin + static_cast<std::size_t>(range) * stride(), bytes);
  }
  std::span<std::byte> values(RangeId range, std::size_t bytes) const { return part(0, range, bytes); }
  std::span<std::byte> gradient(RangeId range, std::size_t bytes) const { return part(half(), range, bytes); }

  const std::vector<std::uint64_t>& ids_of(RangeId range, std::int64_t clock) const {
    return ids_[static_cast<std::size_t>(clock % kBatches)][static_cast<std::size_t>(range)];
  }

  WorkerOptions worker_options() const {
    WorkerOptions options;
    options.worker = place_.me.index;
    options.workers = setup_.workers;
    options.batches = std::int64_t{1} << 50;
    for (RangeId range = 0; range < setup_.servers; ++range) options.ranges.push_back(range);
    return hocket::worker_options(Discipline::parse(setup_.train_options().sync), options);
  }

  static std::int64_t next(WorkerExchange& exchange) {
    const std::optional<Worker::Task> task = exchange.next();
    if (!task) throw NetError("the servers have ended");
    return task->clock;
  }

  std::vector<Push> pushes() const {
    std::vector<Push> pushes(static_cast<std::size_t>(setup_.servers));
    for (RangeId range = 0; range < setup_.servers; ++range) {
      Push& push = pushes[static_cast<std::size_t>(range)];
      std::size_t bytes = setup_.range_bytes(range);
      if (setup_.kind == PsKind::sparse) {
        const std::vector<std::uint64_t>& ids = ids_of(range, step_);
        push.ids = Payload::copy_of(std::as_bytes(std::span(ids)));
        bytes = ids.size() * kPsWidth * sizeof(float);
      }
      push.values = {gradient(range, bytes), nullptr};
      push.samples = 1;
    }
    return pushes;
  }

  PsSetup setup_;
  NodePlace place_;
  NodeNetwork network_;
  std::vector<BatchIds> ids_;
  std::int64_t step_ = 0;
};

}  // namespace

void run_ps_worker(const PsSetup& setup, const NodePlace& place) { PsWorker(setup, place).run(); }

}  // namespace hocket
