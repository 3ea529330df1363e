#include "train/sandblaster_recorder.h"

#include <algorithm>

#include "base/error.h"
#include "net/log.h"
#include "tensor/kernels/threads.h"
#include "train/evaluate.h"
#include "train/portion_gradient.h"
#include "train/run_checkpoints.h"
#include "train/sandblaster_parcels.h"
#include "train/session.h"
#include "train/step_calendar.h"
#include "train/straggler.h"
#include "train/test_scores.h"

namespace hocket {
namespace {

constexpr Seconds kQuestionLook{0.05};  // From one question to the next.
constexpr Seconds kPatience{60};
constexpr std::int64_t kIterations = 100;
constexpr std::int64_t kEvalEvery = 10;
constexpr std::int64_t kStatisticsBatches = 64;  // With momentum 0.9, what was before them counts 0.1 %.

std::int64_t iterations_in(const TrainOptions& given) {
  if (given.steps > 0) return given.steps;
  return given.epochs > 0 ? given.epochs : kIterations;
}

TrainOptions by_iterations(const TrainOptions& given, const DataInfo& info) {
  TrainOptions options = with_defaults(given, info);
  options.steps = iterations_in(given);
  options.log_every = given.log_every > 0 ? given.log_every : 1;
  options.eval_every = given.eval_every > 0 ? given.eval_every : kEvalEvery;
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
        network_(network_at(place), log_to_stderr()),
        parcels_(network_),
        checkpoints_(options_, team_, [&](const std::string& line) { observer_.on_warning(line); }),
        parts_(static_cast<std::size_t>(options_.servers)) {}

  TrainResult run() {
    resume();
    announce();
    is_f64() ? give<double>() : give<float>();
    while (!is_over()) {
      follow(next_pause() - steps_before_);
      is_f64() ? take<double>() : take<float>();
      if (stop_.load()) break;
      if (steps_done() % options_.eval_every == 0) evaluate();
      if (options_.checkpoint_every > 0 && steps_done() % options_.checkpoint_every == 0) save();
    }
    return finish();
  }

 private:
  bool is_f64() const { return options_.dtype == "f64"; }
  std::int64_t samples() const { return data_.train->info().size; }
  std::int64_t samples_done() const { return samples_before_ + progress_.evaluations * samples(); }
  std::int64_t steps_done() const { return steps_before_ + progress_.iterations; }
  bool has_ended() const {
    return progress_.state == LbfgsState::converged || progress_.state == LbfgsState::stalled;
  }
  bool is_over() const {
    return has_ended() || tests_.has_reached_target() || steps_done() >= options_.steps;
  }

  // L-BFGS stops at the step of the next test or checkpoint, so that all servers give the same point.
  std::int64_t next_pause() const {
    return StepCalendar(options_, data_.train->info()).next_pause(steps_done());
  }

  // From the parameters of the newest checkpoint, with no history.
  void resume() {
    const std::optional<RunProgress> before =
        checkpoints_.resume([&](const CheckpointReader& reader) { session_.restore(reader, true); });
    if (!before) return;
    steps_before_ = before->step;
    samples_before_ = before->samples;
    trained_ = 1e-9 * static_cast<double>(before->train_ns);
  }

  void announce() {
    const auto several = [](int count, const char* what) {
      return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    observer_.on_start(fmt::format(
        "{} ({} parameters) on {} ({} samples, {} held out), {} iterations of L-BFGS, {} by {} and {}",
        options_.model, session_.parameter_count(), data_.train->info().name, samples(),
        data_.held_out == nullptr ? 0 : data_.held_out->info().size, options_.steps - steps_before_,
        options_.sync, several(options_.workers, "worker"), several(options_.servers, "server")));
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
      for (const auto& [from, message] : parcels_.receive(after(kQuestionLook))) {
        const auto server = static_cast<std::size_t>(from.index);
        if (from.kind == NodeKind::server && server < parts_.size() && on_message(server, message))
          parts_[server] = true;
      }
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

  // Until L-BFGS has made so many iterations, has ended by itself, or was told to stop. Answers to questions
  // before the last may still say that it stands.
  void follow(std::int64_t limit) {
    TimePoint heard = Clock::now();
    const auto is_at_limit = [&] {
      return progress_.state == LbfgsState::out_of_iterations && progress_.iterations >= limit;
    };
    const bool is_first = progress_.evaluations == 0;
    if (!is_first) start_ = Clock::now();
    while (!has_ended() && !is_at_limit()) {
      if (stop_.load()) limit = 0;
      parcels_.send(kCoordinator, ProgressRequest{static_cast<std::int32_t>(limit)});
      for (const auto& [from, message] : parcels_.receive(after(kQuestionLook))) {
        const auto* progress = std::get_if<SandblasterProgress>(&message);
        if (from != kCoordinator || progress == nullptr) continue;
        heard = Clock::now();
        if (start_ == TimePoint()) start_ = heard;
        record(*progress);
      }
      if (Clock::now() - heard > kPatience) throw NetError("the coordinator does not answer");
    }
    trained_ += Seconds(Clock::now() - start_).count();
  }

  void record(const SandblasterProgress& progress) {
    progress_ = progress;
    if (first_step_seconds_ == 0 && progress.iterations > 0)
      first_step_seconds_ = Seconds(Clock::now() - began_).count();
    const std::int64_t new_steps = progress.iterations - recorded_.iterations;
    const bool is_last = has_ended() || steps_done() >= options_.steps;
    if (new_steps == 0 || (new_steps < options_.log_every && !is_last)) return;
    StepRecord record;
    record.step = steps_done();
    record.total_steps = options_.steps;
    record.epoch = static_cast<double>(progress.evaluations);
    record.loss = progress.value;
    record.seconds = trained_ + Seconds(Clock::now() - start_).count();
    record.samples_per_second =
        static_cast<double>((progress.evaluations - recorded_.evaluations) * samples()) /
        std::max(1e-9, record.seconds - recorded_seconds_);
    record.gradient_norm = progress.gradient_norm;
    record.is_emulated = is_emulated(options_);
    recorded_ = progress;
    recorded_seconds_ = record.seconds;
    observer_.on_step(record);
  }

  void evaluate() {
    if (data_.held_out == nullptr || (tests_.last() && tests_.last()->step == steps_done())) return;
    estimate_statistics();
    const Evaluation evaluation = Evaluator(session_, *data_.held_out, team_).run();
    const EvalRecord record{steps_done(),    static_cast<double>(progress_.evaluations),
                            evaluation.loss, evaluation.accuracy,
                            trained_,        evaluation.auc};
    tests_.add(record);
    observer_.on_eval(record);
  }

  // L-BFGS has no use for running statistics, but a test has.
  void estimate_statistics() {
    const std::span<std::byte> statistics = session_.memory().buffers.bytes();
    if (statistics.empty() || estimated_ == steps_done()) return;
    estimated_ = steps_done();
    if (!portion_) {
      TrainOptions own = options_;
      own.workers = 1;  // As workers compute, whatever their number.
      portion_.emplace(own, *data_.train, 1);
    }
    const std::vector<double> point = is_f64() ? point_as<double>() : point_as<float>();
    std::ranges::copy(portion_->statistics(point, kStatisticsBatches), statistics.begin());
  }

  template <typename T>
  std::vector<double> point_as() {
    const Arena& arena = session_.memory().parameters;
    const std::span<T> values = arena.at<T>(0, arena.size() / sizeof(T));
    return {values.begin(), values.end()};
  }

  void save() {
    if (!checkpoints_.wants(steps_done())) return;
    estimate_statistics();
    checkpoints_.save(session_.checkpoint(),
                      {steps_done(), samples_done(), static_cast<std::int64_t>(1e9 * trained_)});
  }

  TrainResult finish() {
    const bool interrupted = stop_.load() && !is_over();
    if (!interrupted) evaluate();
    save();
    TrainResult result;
    result.steps = steps_done();
    result.samples = samples_done();
    result.parameters = session_.parameter_count();
    result.seconds.wall_seconds = Seconds(Clock::now() - began_).count();
    result.seconds.train_seconds = trained_;
    result.ranks.assign(static_cast<std::size_t>(options_.workers), result.seconds);
    result.first_step_seconds = first_step_seconds_;
    result.train_loss = progress_.value;
    result.objective = objective();
    result.batch = samples();
    result.total_steps = options_.steps;
    result.threads = kernel::num_threads();
    result.bytes_sent = static_cast<std::uint64_t>(progress_.bytes);
    result.messages_sent = static_cast<std::uint64_t>(progress_.messages);
    result.portions = {progress_.evaluations, progress_.tasks, progress_.backups, progress_.bytes,
                       progress_.messages};
    result.parameter_hash = session_.hash();
    result.interrupted = interrupted;
    tests_.put(result, interrupted);
    return result;
  }

  // liblinear's, of a linear model that was given its C: the penalty is part of what is minimised.
  std::optional<double> objective() const {
    const bool has_c = options_.model.find(",c=") != std::string::npos && options_.optimizer.weight_decay > 0;
    if (!has_c || progress_.evaluations == 0) return std::nullopt;
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
  RunCheckpoints checkpoints_;

  TimePoint start_;          // Of what is under way; then
  double trained_ = 0;       // seconds of what is done.
  std::vector<bool> parts_;  // By server: it has answered.
  SandblasterProgress progress_;
  SandblasterProgress recorded_;
  double recorded_seconds_ = 0;
  std::int64_t steps_before_ = 0;
  std::int64_t samples_before_ = 0;
  std::int64_t estimated_ = -1;             // The step of the running statistics.
  std::optional<PortionGradient> portion_;  // For them, where the model has any.
  double first_step_seconds_ = 0;
  TestScores tests_{options_.target_accuracy};
};

}  // namespace

TrainResult record_for_sandblaster(const TrainOptions& options, TrainObserver& observer,
                                   const std::atomic<bool>& stop, const NodePlace& place) {
  kernel::set_num_threads(std::max(1, options.threads));
  return SandblasterRecording(options, observer, stop, place).run();
}

}  // namespace hocket
