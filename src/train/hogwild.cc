#include "train/hogwild.h"

#include <algorithm>

#include "base/error.h"
#include "net/clock.h"
#include "nn/schedule.h"
#include "sync/discipline.h"
#include "tensor/kernels/threads.h"
#include "train/evaluate.h"
#include "train/hogwild_crew.h"
#include "train/node_spans.h"
#include "train/process_usage.h"
#include "train/run_checkpoints.h"
#include "train/step_calendar.h"
#include "train/straggler.h"
#include "train/test_scores.h"

namespace hocket {
namespace {

constexpr Seconds kLook{0.01};              // From one look at the threads to the next.
constexpr std::int64_t kSparseGrain = 256;  // Samples of a claim, where an update takes next to no time.
constexpr double kManyConflicts = 0.1;      // Of the parameters written,
constexpr double kManyParameters = 0.1;     // and of all that are written by one update.

void require_fit(const TrainOptions& options) {
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given) throw ConfigError("{} does not go with --sync {}", what, options.sync);
  };
  refuse(Mesh::parse(options.mesh, options.workers).size_of("tp") > 1, "--mesh with tp");
  refuse(options.zero > 0, "--zero");
  refuse(options.compress != "none", "--compress");
  refuse(options.factors, "--factors");
  refuse(options.micro_batches > 1, "--microbatches");
  refuse(options.balance, "--balance, as its threads take what they can,");
  refuse(options.gradient_norms, "--gradient-norms");
}

// Where updates touch few coordinates, a rule that touches all of them is no sensible default.
TrainOptions with_own_defaults(TrainOptions options, const DataInfo& info) {
  if (options.optimizer.rule.empty() && info.max_nonzeros > 0) options.optimizer.rule = "sgd";
  options.workers = Mesh::parse(options.mesh, options.workers).size();
  return with_defaults(options, info);
}

class Hogwild {
 public:
  Hogwild(const TrainOptions& given, TrainObserver& observer, const std::atomic<bool>& stop)
      : began_(Clock::now()),
        data_(open_session_data(given)),
        options_(with_own_defaults(given, data_.train->info())),
        calendar_(options_, data_.train->info()),
        discipline_(Discipline::parse(options_.sync)),
        observer_(observer),
        stop_(stop),
        session_(options_, data_.train->info(), team_),
        rate_(options_.lr_schedule, options_.learning_rate, options_.warmup, options_.steps,
              calendar_.per_epoch),
        is_sparse_(is_sparse_descent(options_, data_.train->info())),
        crew_(crew_options()),
        checkpoints_(options_, team_, [&](const std::string& line) { observer_.on_warning(line); }) {
    if (data_.held_out != nullptr) evaluator_.emplace(session_, *data_.held_out, team_);
  }

  TrainResult run() {
    resume();
    announce();
    while (step_ < options_.steps && !stop_.load() && !tests_.has_reached_target()) {
      train_until(calendar_.next_pause(step_));
      if (step_ % calendar_.test_every == 0 || step_ == options_.steps) evaluate();
      if (options_.checkpoint_every > 0 && step_ % options_.checkpoint_every == 0) save();
    }
    return finish();
  }

 private:
  double epochs_done() const { return static_cast<double>(step_) / static_cast<double>(calendar_.per_epoch); }

  HogwildShared crew_options() {
    HogwildShared shared{options_, *data_.train, session_,
                         [this](std::int64_t step) { return rate_.at(step); }};
    const std::int64_t share = (options_.batch + options_.workers - 1) / options_.workers;
    shared.rows = discipline_.rows > 0 ? std::min(discipline_.rows, options_.batch) : share;
    const std::int64_t updates = std::max<std::int64_t>(1, kSparseGrain / shared.rows);
    shared.grain = std::min(is_sparse_ ? updates * shared.rows : shared.rows, options_.batch);
    shared.is_sparse = is_sparse_;
    shared.is_locked = discipline_.is_locked;
    return shared;
  }

  void resume() {
    const std::optional<RunProgress> before =
        checkpoints_.resume([&](const CheckpointReader& reader) { session_.restore(reader, true); });
    if (!before) return;
    step_ = recorded_ = before->step;
    samples_before_ = before->samples;
    trained_before_ = recorded_seconds_ = 1e-9 * static_cast<double>(before->train_ns);
  }

  void announce() {
    const DataInfo& info = data_.train->info();
    observer_.on_start(
        fmt::format("{} ({} parameters) on {} ({} samples, {} held out), batch {}, {} {:.4g}, {} steps, {} "
                    "threads by {}, "
                    "{} samples an update{}",
                    options_.model, session_.parameter_count(), info.name, info.size,
                    data_.held_out == nullptr ? 0 : data_.held_out->info().size, options_.batch,
                    options_.optimizer.rule, options_.learning_rate, options_.steps, options_.workers,
                    options_.sync, crew_.shared().rows, is_emulated(options_) ? ", emulated" : ""));
  }

  void train_until(std::int64_t end) {
    segment_start_ = Clock::now();
    segment_samples_ = crew_.progress().samples;
    crew_.start(step_, end);
    while (!crew_.wait(kLook)) {
      look();
      if (stop_.load()) crew_.stop();
    }
    step_ = crew_.finish();
    trained_before_ += Seconds(Clock::now() - segment_start_).count();
    segment_start_ = {};
    look();
    warn_of_conflicts();
  }

  double trained() const {
    const bool is_running = segment_start_ != TimePoint();
    return trained_before_ + (is_running ? Seconds(Clock::now() - segment_start_).count() : 0);
  }

  void look() {
    const HogwildProgress progress = crew_.progress();
    if (first_step_seconds_ == 0 && progress.samples > 0)
      first_step_seconds_ = Seconds(Clock::now() - began_).count();
    const std::int64_t step = segment_start_ == TimePoint()
                                  ? step_
                                  : step_ + (progress.samples - segment_samples_) / options_.batch;
    const bool is_last = step == options_.steps && step > recorded_;
    if (step - recorded_ >= options_.log_every || is_last) record_step(step, progress);
  }

  void record_step(std::int64_t step, const HogwildProgress& progress) {
    const auto samples = static_cast<double>(progress.samples - recorded_progress_.samples);
    if (samples <= 0) return;
    StepRecord record;
    record.step = step;
    record.total_steps = options_.steps;
    record.epoch = static_cast<double>(step) / static_cast<double>(calendar_.per_epoch);
    record.loss = (progress.loss - recorded_progress_.loss) / samples;
    record.learning_rate = rate_.at(std::max<std::int64_t>(0, step - 1));
    record.seconds = trained();
    record.samples_per_second = samples / std::max(1e-9, record.seconds - recorded_seconds_);
    record.is_emulated = is_emulated(options_);
    recorded_ = step;
    recorded_progress_ = progress;
    recorded_seconds_ = record.seconds;
    last_loss_ = record.loss;
    observer_.on_step(record);
  }

  // Updates that write most parameters meet those of other threads whenever there are any.
  void warn_of_conflicts() {
    const ConflictCounts counts = crew_.conflicts();
    if (has_warned_ || options_.workers == 1 || counts.observed_updates == 0) return;
    const double touched = static_cast<double>(counts.writes) / static_cast<double>(counts.observed_updates);
    const bool is_dense = touched > kManyParameters * static_cast<double>(session_.parameter_count());
    if (!is_dense && counts.rate() < kManyConflicts) return;
    has_warned_ = true;
    observer_.on_warning(
        fmt::format("hogwild is for updates that touch few parameters: here one writes {:.0f} of {}, and "
                    "{:.1f} % of what was "
                    "written another thread had changed since it was read",
                    touched, session_.parameter_count(), 100 * counts.rate()));
  }

  void evaluate() {
    if (!evaluator_ || evaluated_ == step_) return;
    evaluated_ = step_;
    const TimePoint began = Clock::now();
    const Evaluation evaluation = evaluator_->run();
    span(Activity::evaluate, began);
    const EvalRecord record{step_,     epochs_done(), evaluation.loss, evaluation.accuracy,
                            trained(), evaluation.auc};
    tests_.add(record);
    observer_.on_eval(record);
  }

  void save() {
    if (!checkpoints_.wants(step_)) return;
    const TimePoint began = Clock::now();
    checkpoints_.save(session_.checkpoint(), {step_, samples_before_ + crew_.progress().samples,
                                              static_cast<std::int64_t>(1e9 * trained()),
                                              position_after(step_, calendar_.per_epoch, options_.batch)});
    span(Activity::checkpoint, began);
  }

  void span(Activity activity, TimePoint began) {
    observer_.on_span(activity, began.time_since_epoch().count(), Clock::now().time_since_epoch().count());
  }

  TrainResult finish() {
    const bool interrupted = step_ < options_.steps && !tests_.has_reached_target();
    const HogwildProgress progress = crew_.progress();
    if (step_ > recorded_) record_step(step_, progress);
    save();
    if (!interrupted) evaluate();
    TrainResult result;
    result.steps = step_;
    result.samples = samples_before_ + progress.samples;
    result.parameters = session_.parameter_count();
    result.seconds.wall_seconds = Seconds(Clock::now() - began_).count();
    result.seconds.train_seconds = trained();
    crew_.put(result);
    result.first_step_seconds = first_step_seconds_;
    result.train_loss = last_loss_;
    result.batch = options_.batch;
    result.total_steps = options_.steps;
    result.threads = kernel::num_threads();
    result.peak_rss_bytes = process_peak_rss_bytes();
    result.parameter_hash = session_.hash();
    result.interrupted = interrupted;
    tests_.put(result, interrupted);
    if (!options_.out.empty()) crew_.leave_spans(options_.out);
    return result;
  }

  TimePoint began_;
  SessionData data_;
  TrainOptions options_;
  StepCalendar calendar_;
  Discipline discipline_;
  TrainObserver& observer_;
  const std::atomic<bool>& stop_;
  Team team_;  // Alone.
  Session session_;
  LearningRate rate_;
  bool is_sparse_;
  HogwildCrew crew_;
  RunCheckpoints checkpoints_;
  std::optional<Evaluator> evaluator_;

  TimePoint segment_start_{};         // Of the threads that run now.
  std::int64_t segment_samples_ = 0;  // Until then, as are:
  double trained_before_ = 0;         // Seconds.
  double first_step_seconds_ = 0;
  std::int64_t step_ = 0;
  std::int64_t samples_before_ = 0;  // The run was resumed.
  std::int64_t recorded_ = 0;
  HogwildProgress recorded_progress_;
  double recorded_seconds_ = 0;
  double last_loss_ = 0;
  bool has_warned_ = false;
  std::int64_t evaluated_ = -1;
  TestScores tests_{options_.target_accuracy};
};

}  // namespace

bool is_hogwild(const TrainOptions& options) {
  return Discipline::parse(options.sync).kind == DisciplineKind::hogwild;
}

TrainResult train_hogwild(const TrainOptions& options, TrainObserver& observer,
                          const std::atomic<bool>& stop) {
  require_fit(options);
  const int workers = Mesh::parse(options.mesh, options.workers).size();
  kernel::set_num_threads(options.threads > 0 ? options.threads : std::max(1, usable_cores() / workers));
  return Hogwild(options, observer, stop).run();
}

}  // namespace hocket
