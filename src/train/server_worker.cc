#include "train/server_worker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <thread>

#include "base/error.h"
#include "net/log.h"
#include "ps/node_network.h"
#include "sync/discipline.h"
#include "tensor/kernels/threads.h"
#include "train/model_ranges.h"
#include "train/node_spans.h"
#include "train/process_usage.h"
#include "train/slice_gradient.h"
#include "train/split_replica.h"
#include "train/straggler.h"
#include "train/worker_exchange.h"

namespace hocket {
namespace {

// A whole replica of its own, with the share of a batch that one worker computes.
TrainOptions of_one_worker(const TrainOptions& options, bool has_tables) {
  TrainOptions own = options;
  own.batch = (options.batch + options.workers - 1) / options.workers;
  own.mesh.clear();
  if (has_tables) own.model = compact_model(options.model);
  return own;
}

std::vector<TableUse> tables_of(const TrainOptions& options, const DataInfo& info) {
  if (options.whole_tables) return {};
  return find_tables(*build_batch_model(options, info, Mesh()));
}

class ServerWorker final : public WorkerMemory {
 public:
  ServerWorker(const TrainOptions& given, const NodePlace& place)
      : data_(open_session_data(given)),
        options_(with_defaults(given, data_.train->info())),
        tables_(tables_of(options_, data_.train->info())),
        own_(of_one_worker(options_, !tables_.empty())),
        info_(tables_.empty() ? data_.train->info() : compact_info(data_.train->info(), own_.batch)),
        discipline_(Discipline::parse(options_.sync)),
        place_(place),
        straggler_(options_, place.me.index, options_.workers),
        network_(network_options(), log_to_stderr()),
        session_(
            own_, info_, team_, [&](std::size_t bytes) { return allocate(bytes); }, accumulates()),
        ranges_(model_ranges(session_.program().layouts(), tables_, options_.optimizer, options_.servers)) {
    if (session_.memory().gradients.size() != session_.memory().parameters.size()) {
      throw ConfigError("model {} has gradients by rows, which servers do not take", options_.model);
    }
    if (!tables_.empty() && (discipline_.fetch_every > 1 || discipline_.push_every > 1)) {
      throw ConfigError("--sync {}: every batch of {} needs other rows; fetch and push every one",
                        options_.sync, options_.model);
    }
    for (const ModelRange& range : ranges_) prepare(range);
    prepare_gradient();
  }

  void run() {
    {
      WorkerExchange exchange(worker_options(), network_, *this, timing_at(place_));
      TimePoint waiting = Clock::now();
      while (const std::optional<Worker::Task> task = exchange.next()) {
        const TimePoint start = Clock::now();
        timeline_.record(waiting_, thread_, waiting, start);
        if (!tables_.empty()) rows_ = &gradient_->prepare(task->slice, task->clock);
        restore_statistics();
        const SliceGradient::Outcome outcome = compute(*task);
        add(outcome, task->adds);
        slow_down(task->clock, start);
        waiting = Clock::now();
        timeline_.record(computing_, thread_, start, waiting);
        computed_ += Seconds(waiting - start).count();
        exchange.finish(task->is_pushed ? pushes(exchange.waited()) : std::vector<Push>());
      }
    }
    if (!options_.out.empty()) leave_node_spans(options_.out, place_.me.index, timeline_);
  }

  // The next three in the thread of the exchange. While a gradient is computed, it asks for the next batch.
  Payload ids(RangeId id, int slice, std::int64_t clock) override {
    const ModelRange& range = at(id);
    if (!range.is_table()) return {};
    return Payload::copy_of(std::as_bytes(gradient_->prepare(slice, clock).ids(range.server)));
  }

  std::uint64_t destination(RangeId id) override {
    return options_.replicas > 1 || at(id).is_table()
               ? 0
               : network_.destination_of(memory_.at(id).landing.data());
  }

  void take(const PullDone& pulled, int slice, std::int64_t clock) override {
    const ModelRange& range = at(pulled.range);
    if (range.is_table()) rows_ = &gradient_->prepare(slice, clock);
    const std::span<const std::byte> values =
        pulled.destination == 0 ? pulled.values.bytes : memory_.at(pulled.range).landing;
    const std::size_t expected =
        range.is_table() ? rows_in(range, session_.memory().parameters).size() : range.bytes;
    if (values.size() != expected) {
      throw NetError("range {} came with {} bytes instead of {}", pulled.range, values.size(), expected);
    }
    pulled_bytes_ += values.size();
    scatter(range, values);
    if (range.role == Role::buffer) statistics_.assign(values.begin(), values.end());
  }

 private:
  // Of a range: where servers put its values, and where the gradient lies that is pushed.
  struct RangeMemory {
    std::span<std::byte> landing;
    std::span<std::byte> gradient;
    bool is_gathered = false;  // From several pieces of the arena.
    std::array<std::span<std::byte>, 2>
        sent{};  // Where gradients are on their way while others are computed.
  };

  bool accumulates() const { return discipline_.push_every > 1; }

  void prepare_gradient() {
    const int ranks = Mesh::parse(options_.mesh, 0).size_of("tp");
    if (ranks > 1 && !tables_.empty())
      throw ConfigError("model {} has tables, which servers hold: --mesh with tp cannot cut it",
                        options_.model);
    if (ranks > 1 && options_.micro_batches > 1)
      throw ConfigError("--microbatches does not go with --mesh {} and --sync {}", options_.mesh,
                        options_.sync);
    if (ranks > 1) {
      split_.emplace(options_, own_, *data_.train, session_, ranks);
    } else {
      gradient_.emplace(options_, *data_.train, session_, options_.workers, accumulates());
    }
  }

  SliceGradient::Outcome compute(const Worker::Task& task) {
    return split_ ? split_->compute(task.slice, task.clock, task.adds)
                  : gradient_->compute(task.slice, task.clock, task.adds);
  }

  // Parameters and statistics, their gradients and changes, and all that lies there once more for its way.
  NodeNetworkOptions network_options() const {
    std::size_t bytes = 0;
    const std::unique_ptr<Graph> model = build_batch_model(own_, info_, Mesh());
    for (const Role role : {Role::parameter, Role::buffer}) bytes += 4 * ArenaLayout(*model, role).bytes();
    if (discipline_.pulls_ahead) bytes *= 1 + static_cast<std::size_t>(options_.servers);
    bytes += 6 * static_cast<std::size_t>(range_count(options_.servers)) * kAlignment;
    return network_at(place_, bytes);
  }

  // Of the memory that servers of this host see.
  std::span<std::byte> allocate(std::size_t bytes) {
    const std::span<std::byte> part = network_.memory().subspan(used_, bytes);
    used_ += align_up(bytes);
    return part;
  }

  // Whether parameters stay as they are while new ones come: a slice that is taken over needs those of the
  // batch before, as does a gradient that is computed meanwhile.
  bool is_kept() const {
    const WorkerOptions options = worker_options();
    return options.takes_over || options.pulls_ahead;
  }

  // Values go to the parameters at once, unless they lie in pieces there or the old ones are kept.
  void prepare(const ModelRange& range) {
    RangeMemory& memory = memory_[range.id];
    const std::size_t most =
        range.is_table() ? session_.program().layouts().parameters.at(range.table).bytes() : range.bytes;
    for (auto& sent : memory.sent) sent = allocate(discipline_.pulls_ahead ? most : 0);
    if (range.is_table()) return;
    const StepMemory& step = session_.memory();
    const bool is_buffer = range.role == Role::buffer;
    const std::span<std::byte> own = range.in(is_buffer ? step.buffers.bytes() : step.parameters.bytes());
    memory.is_gathered = own.empty();
    memory.landing = own.empty() || is_kept() ? allocate(range.bytes) : own;
    memory.gradient = own.empty() || is_buffer ? allocate(range.bytes) : range.in(step.gradients.bytes());
  }

  WorkerOptions worker_options() const {
    WorkerOptions options;
    options.worker = place_.me.index;
    options.workers = options_.workers;
    options.batches = options_.steps;
    for (const ModelRange& range : ranges_) options.ranges.push_back(range.id);
    return hocket::worker_options(discipline_, options);
  }

  const ModelRange& at(RangeId id) const {
    const auto found =
        std::find_if(ranges_.begin(), ranges_.end(), [&](const ModelRange& r) { return r.id == id; });
    HOCKET_CHECK(found != ranges_.end(), "no range {}", id);
    return *found;
  }

  // The rows of a server in the block of a table, in an arena that lies as the parameters do.
  std::span<std::byte> rows_in(const ModelRange& range, const Arena& arena) {
    const std::size_t offset = session_.program().layouts().parameters.at(range.table).offset;
    const std::size_t row = static_cast<std::size_t>(range.spec.width) * size_of(range.spec.dtype);
    return arena.bytes().subspan(offset + static_cast<std::size_t>(rows_->first(range.server)) * row,
                                 rows_->ids(range.server).size() * row);
  }

  void scatter(const ModelRange& range, std::span<const std::byte> values) {
    if (range.is_table()) {
      std::copy(values.begin(), values.end(), rows_in(range, session_.memory().parameters).begin());
      return;
    }
    const Arena& arena =
        range.role == Role::buffer ? session_.memory().buffers : session_.memory().parameters;
    for (const RangePiece& piece : range.pieces) {
      std::byte* to = arena.data() + piece.offset;
      if (to != values.data() + piece.at) std::memcpy(to, values.data() + piece.at, piece.bytes);
    }
  }

  // Running statistics go on from what was pulled, whatever was computed since.
  void restore_statistics() {
    std::copy(statistics_.begin(), statistics_.end(), session_.memory().buffers.bytes().begin());
  }

  void slow_down(std::int64_t clock, TimePoint start) {
    if (!straggler_.is_active()) return;
    const TimePoint computed = Clock::now();
    std::this_thread::sleep_for(Seconds(straggler_.seconds_left(clock, Seconds(computed - start).count())));
    timeline_.record(sleeping_, thread_, computed, Clock::now());
  }

  // What this slice adds to the average of all.
  template <typename T>
  void find_changes(std::span<std::byte> changes) {
    const auto share = static_cast<T>(1.0 / options_.workers);
    const auto* before = reinterpret_cast<const T*>(statistics_.data());
    const auto* after = reinterpret_cast<const T*>(session_.memory().buffers.data());
    auto* change = reinterpret_cast<T*>(changes.data());
    for (std::size_t i = 0; i < changes.size() / sizeof(T); ++i) change[i] = share * (after[i] - before[i]);
  }

  Payload gradient_of(const ModelRange& range) {
    if (range.is_table()) return {rows_in(range, session_.memory().gradients), nullptr};
    const RangeMemory& memory = memory_.at(range.id);
    if (range.role == Role::buffer && range.spec.dtype == DType::f64) {
      find_changes<double>(memory.gradient);
    } else if (range.role == Role::buffer) {
      find_changes<float>(memory.gradient);
    } else if (memory.is_gathered) {
      for (const RangePiece& piece : range.pieces) {
        std::memcpy(memory.gradient.data() + piece.at, session_.memory().gradients.data() + piece.offset,
                    piece.bytes);
      }
    }
    return {memory.gradient, nullptr};
  }

  // To what is pushed next.
  void add(const SliceGradient::Outcome& outcome, bool adds) {
    if (!adds) unpushed_ = {};
    unpushed_.loss += outcome.loss;
    unpushed_.samples += outcome.samples;
    unpushed_batches_ = adds ? unpushed_batches_ + 1 : 1;
  }

  // The same, where the next gradient is computed while this one is on its way.
  Payload sent_gradient_of(const ModelRange& range) {
    const Payload gradient = gradient_of(range);
    if (!discipline_.pulls_ahead) return gradient;
    const std::span<std::byte> sent =
        memory_.at(range.id).sent[static_cast<std::size_t>(pushes_) % 2].first(gradient.bytes.size());
    std::copy(gradient.bytes.begin(), gradient.bytes.end(), sent.begin());
    return {sent, nullptr};
  }

  std::vector<Push> pushes(double waited) {
    std::vector<Push> pushes;
    pushes.reserve(ranges_.size());
    for (const ModelRange& range : ranges_) {
      Push push;
      push.values = sent_gradient_of(range);
      if (range.is_table()) push.ids = Payload::copy_of(std::as_bytes(rows_->ids(range.server)));
      push.loss = unpushed_.loss;
      push.samples = unpushed_.samples;
      push.batches = unpushed_batches_;
      push.account.compute_seconds = computed_;
      push.account.bytes_moved = pulled_bytes_;
      push.account.wait_seconds = waited;
      push.account.cpu_seconds = process_cpu_seconds();
      push.account.peak_rss_bytes = process_peak_rss_bytes();
      pushes.push_back(std::move(push));
    }
    ++pushes_;
    return pushes;
  }

  SessionData data_;
  TrainOptions options_;
  std::vector<TableUse> tables_;
  TrainOptions own_;
  DataInfo info_;
  Discipline discipline_;
  NodePlace place_;
  Straggler straggler_;
  NodeNetwork network_;
  std::size_t used_ = 0;
  Team team_;
  Session session_;
  std::vector<ModelRange> ranges_;
  std::map<RangeId, RangeMemory> memory_;
  std::int64_t pushes_ = 0;            // One of all ranges counts once.
  const BatchRows* rows_ = nullptr;    // Of the batch at hand.
  std::vector<std::byte> statistics_;  // As they were pulled.
  std::uint64_t pulled_bytes_ = 0;
  double computed_ = 0;
  SliceGradient::Outcome unpushed_;        // Of the gradients in memory,
  std::int32_t unpushed_batches_ = 0;      // of so many batches.
  std::optional<SliceGradient> gradient_;  // Of a replica that is whole,
  std::optional<SplitReplica> split_;      // or of one that is cut.
  Timeline timeline_;
  std::uint16_t thread_ = timeline_.add_thread("training");
  std::uint16_t waiting_ = timeline_.add_name("wait for servers", SpanKind::wait);
  std::uint16_t computing_ = timeline_.add_name("gradient", SpanKind::compute);
  std::uint16_t sleeping_ = timeline_.add_name("slower (emulated)", SpanKind::compute);
};

}  // namespace

void work_for_servers(const TrainOptions& options, const NodePlace& place) {
  kernel::set_num_threads(std::max(1, options.threads));
  ServerWorker(options, place).run();
}

}  // namespace hocket
