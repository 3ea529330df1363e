#include "train/sandblaster_recorder.h"

#include <algorithm>

#include "base/error.h"
#include "net/log.h"
#include "tensor/kernels/threads.h"
#include "train/checkpoint_settings.h"
#include "train/checkpoint_store.h"
#include "train/evaluate.h"
#include "train/sandblaster_parcels.h"
#include "train/session.h"
#include "train/straggler.h"

namespace hocket {
namespace {

constexpr Seconds kLook{0.05};  // From one question to the next.
constexpr Seconds kPatience{60};
constexpr std::int64_t kIterations = 100;

std::int64_t iterations_in(const TrainOptions& given) {
  if (given.steps > 0) return given.steps;
  return given.epochs > 0 ? given.epochs : kIterations;
}

TrainOptions by_iterations(const TrainOptions& given, const DataInfo& info) {
  TrainOptions options = with_defaults(given, info);
  options.steps = iterations_in(given);
  options.log_every = given.log_every > 0 ? given.log_every : 1;
  return options;
}

class SandblasterRecording {
 public:
  SandblasterRecording(const TrainOptions& given, TrainObserver& observer, const std::atomic<bool>& stop,
                       const NodePlace& place)
      : began_(Clock::now()),
        data_(open_session_data(given)),
        options_(by_iterations(given, data_.train->info())),
        observer_(observer),
        stop_(stop),
        session_(options_, data_.train->info(), team_),
        network_({place.me, place.key, place.coordinator, place.plaintext, 0}, log_to_stderr()),
        parcels_(network_),
        parts_(static_cast<std::size_t>(options_.servers)) {
    if (options_.out.empty()) return;
    const CheckpointOptions keep{options_.keep_checkpoints,
                                 [&](const std::string& line) { observer_.on_warning(line); }};
    store_.emplace(std::filesystem::path(options_.out) / "checkpoints", team_, keep);
  }

  TrainResult run() {
    if (options_.resume) resume();
    announce();
    is_f64() ? give<double>() : give<float>();
    start_ = Clock::now();
    follow();
    ended_ = Clock::now();
    is_f64() ? take<double>() : take<float>();
    return finish();
  }

 private:
  bool is_f64() const { return options_.dtype == "f64"; }
  std::int64_t samples() const { return data_.train->info().size; }
  std::int64_t steps_done() const { return steps_before_ + progress_.iterations; }

  // From the parameters of the newest checkpoint, with no history.
  void resume() {
    if (!store_) throw ConfigError("--resume needs --out, the run folder to go on in");
    const std::optional<CheckpointReader> reader = store_->open_newest();
    if (!reader) {
      observer_.on_warning(fmt::format("{}: no checkpoint to resume from; starting anew", options_.out));
      return;
    }
    require_same_settings(reader->checkpoint(), options_);
    session_.restore(*reader, true);
    steps_before_ = reader->checkpoint().step;
    observer_.on_warning(fmt::format("resuming after step {}", steps_before_));
  }

  void announce() {
    observer_.on_start(
        fmt::format("{} ({} parameters) on {} ({} samples), {} iterations of L-BFGS, {} by {} workers and {} "
                    "servers",
                    options_.model, session_.parameter_count(), data_.train->info().name, samples(),
                    options_.steps - steps_before_, options_.sync, options_.workers, options_.servers));
  }

  template <typename OnMessage>
  void poll(const OnMessage& on_message) {
    network_.poll(after(kLook), [&](const NodeId& from, const Message& message) {
      if (const auto opened = SandblasterParcels::open(message)) on_message(from, *opened);
    });
  }

  // Asks every server that has not answered, with `ask(server)`, until all have.
  template <typename Ask, typename OnMessage>
  void ask_servers(const Ask& ask, const OnMessage& on_message, const char* complaint) {
    const TimePoint deadline = after(kPatience);
    std::fill(parts_.begin(), parts_.end(), false);
    while (std::find(parts_.begin(), parts_.end(), false) != parts_.end()) {
      if (Clock::now() > deadline) throw NetError("{} within {} s", complaint, kPatience.count());
      parcels_.call_coordinator();
      for (std::size_t server = 0; server < parts_.size(); ++server) {
        if (!parts_[server]) ask(server);
      }
      poll([&](const NodeId& from, const SandblasterMessage& message) {
        const auto server = static_cast<std::size_t>(from.index);
        if (from.kind == NodeKind::server && server < parts_.size() && on_message(server, message))
          parts_[server] = true;
      });
    }
  }

  template <typename T>
  std::vector<std::span<T>> parts_of_parameters() {
    const Arena& arena = session_.memory().parameters;
    const std::span<T> all = arena.at<T>(0, arena.size() / sizeof(T));
    std::vector<std::span<T>> parts;
    parts.reserve(parts_.size());
    std::size_t begin = 0;
    for (const std::int64_t length :
         sandblaster_lengths(static_cast<std::int64_t>(all.size()), options_.servers)) {
      parts.push_back(all.subspan(begin, static_cast<std::size_t>(length)));
      begin += static_cast<std::size_t>(length);
    }
    return parts;
  }

  template <typename T>
  void give() {
    const std::vector<std::span<T>> parts = parts_of_parameters<T>();
    const auto ask = [&](std::size_t server) {
      const std::vector<double> values(parts[server].begin(), parts[server].end());
      parcels_.send(server_node(static_cast<int>(server)), PointInit{{std::as_bytes(std::span(values)), {}}});
    };
    const auto is_done = [](std::size_t, const SandblasterMessage& message) {
      return std::holds_alternative<PointInitDone>(message);
    };
    ask_servers(ask, is_done, "the servers have not taken the parameters");
  }

  template <typename T>
  void take() {
    const std::vector<std::span<T>> parts = parts_of_parameters<T>();
    const auto ask = [&](std::size_t server) {
      parcels_.send(server_node(static_cast<int>(server)), PointRequest{0});
    };
    const auto take_part = [&](std::size_t server, const SandblasterMessage& message) {
      const auto* reply = std::get_if<PointReply>(&message);
      if (reply == nullptr) return false;
      const auto values = reply->values.template values<double>();
      if (values.size() != parts[server].size()) throw NetError("server {} has lost its values", server);
      std::transform(values.begin(), values.end(), parts[server].begin(),
                     [](double value) { return static_cast<T>(value); });
      return true;
    };
    ask_servers(ask, take_part, "the servers have not given the parameters");
  }

  // Until L-BFGS has ended, by itself or because it was told to.
  void follow() {
    std::int64_t limit = std::max<std::int64_t>(1, options_.steps - steps_before_);
    TimePoint heard = Clock::now();
    while (progress_.state == LbfgsState::running) {
      if (stop_.load()) limit = 0;
      parcels_.send(kCoordinator, ProgressRequest{static_cast<std::int32_t>(limit)});
      poll([&](const NodeId& from, const SandblasterMessage& message) {
        const auto* progress = std::get_if<SandblasterProgress>(&message);
        if (from != kCoordinator || progress == nullptr) return;
        if (progress->evaluations < progress_.evaluations)
          throw NetError("the coordinator has died, and with it what {} has learnt", options_.sync);
        heard = Clock::now();
        record(*progress);
      });
      if (Clock::now() - heard > kPatience) throw NetError("the coordinator does not answer");
    }
  }

  void record(const SandblasterProgress& progress) {
    const bool is_over = progress.state != LbfgsState::running;
    const std::int64_t new_steps = progress.iterations - recorded_;
    const std::int64_t evaluations = progress.evaluations - progress_.evaluations;
    progress_ = progress;
    if (first_step_seconds_ == 0 && progress.iterations > 0)
      first_step_seconds_ = Seconds(Clock::now() - began_).count();
    if (new_steps < options_.log_every && (!is_over || new_steps == 0)) return;
    recorded_ = progress.iterations;
    StepRecord record;
    record.step = steps_done();
    record.total_steps = options_.steps;
    record.epoch = static_cast<double>(progress.evaluations);
    record.loss = progress.value;
    record.seconds = Seconds(Clock::now() - start_).count();
    record.samples_per_second =
        static_cast<double>(evaluations * samples()) / std::max(1e-9, record.seconds - seconds_);
    seconds_ = record.seconds;
    record.is_emulated = is_emulated(options_);
    record.gradient_norm = progress.gradient_norm;
    observer_.on_step(record);
  }

  void evaluate() {
    if (data_.held_out == nullptr) return;
    const Evaluation evaluation = Evaluator(session_, *data_.held_out, team_).run();
    test_ = {steps_done(), static_cast<double>(progress_.evaluations), evaluation.loss, evaluation.accuracy,
             Seconds(ended_ - start_).count()};
    observer_.on_eval(*test_);
  }

  void save() {
    if (!store_) return;
    Checkpoint checkpoint = session_.checkpoint();
    checkpoint.settings = settings_of(options_);
    checkpoint.seed = options_.seed;
    checkpoint.step = steps_done();
    store_->save(checkpoint);
  }

  TrainResult finish() {
    const bool interrupted =
        stop_.load() && progress_.state == LbfgsState::out_of_iterations && steps_done() < options_.steps;
    if (!interrupted) evaluate();
    save();
    TrainResult result;
    result.steps = steps_done();
    result.samples = progress_.evaluations * samples();
    result.parameters = session_.parameter_count();
    result.seconds.wall_seconds = Seconds(Clock::now() - began_).count();
    result.seconds.train_seconds = Seconds(ended_ - start_).count();
    result.ranks.assign(static_cast<std::size_t>(options_.workers), result.seconds);
    result.first_step_seconds = first_step_seconds_;
    result.train_loss = progress_.value;
    result.test = test_;
    if (test_) result.best_test_accuracy = test_->accuracy;
    result.objective = objective();
    result.batch = samples();
    result.total_steps = options_.steps;
    result.threads = kernel::num_threads();
    result.bytes_sent = static_cast<std::uint64_t>(progress_.bytes);
    result.messages_sent = static_cast<std::uint64_t>(progress_.messages);
    result.parameter_hash = session_.hash();
    result.interrupted = interrupted;
    reach_target(result);
    return result;
  }

  void reach_target(TrainResult& result) const {
    if (options_.target_accuracy <= 0 || result.interrupted) return;
    const bool reached = test_ && test_->accuracy && *test_->accuracy >= options_.target_accuracy;
    if (reached) result.time_to_target = result.seconds.train_seconds;
    result.target_missed = !reached;
  }

  // liblinear's, of a linear model that was given its C: the penalty is part of what is minimised.
  std::optional<double> objective() const {
    const bool has_c = options_.model.find(",c=") != std::string::npos && options_.optimizer.weight_decay > 0;
    if (!has_c) return std::nullopt;
    return progress_.value / options_.optimizer.weight_decay;
  }

  TimePoint began_;
  SessionData data_;
  TrainOptions options_;
  TrainObserver& observer_;
  const std::atomic<bool>& stop_;
  Team team_;
  Session session_;
  NodeNetwork network_;
  SandblasterParcels parcels_;
  std::optional<CheckpointStore> store_;

  TimePoint start_, ended_;
  std::vector<bool> parts_;  // By server: it has answered.
  SandblasterProgress progress_;
  std::int64_t steps_before_ = 0;
  std::int64_t recorded_ = 0;
  double seconds_ = 0;
  double first_step_seconds_ = 0;
  std::optional<EvalRecord> test_;
};

}  // namespace

TrainResult record_for_sandblaster(const TrainOptions& options, TrainObserver& observer,
                                   const std::atomic<bool>& stop, const NodePlace& place) {
  kernel::set_num_threads(std::max(1, options.threads));
  return SandblasterRecording(options, observer, stop, place).run();
}

}  // namespace hocket
