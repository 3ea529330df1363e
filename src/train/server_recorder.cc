#include "train/server_recorder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/schedule.h"
#include "sync/discipline.h"
#include "tensor/kernels/threads.h"
#include "train/evaluate.h"
#include "train/run_checkpoints.h"
#include "train/server_link.h"
#include "train/step_calendar.h"
#include "train/straggler.h"
#include "train/test_scores.h"

namespace hocket {
namespace {

constexpr Seconds kStatusLook{0.05};  // From one status to the next.

std::int64_t steps_in(const RangeProgress& progress) {
  return static_cast<std::int64_t>(progress.batches + 1e-6);
}

GradientCounts counts_of(const SliceStatus& slice) {
  GradientCounts counts{0, slice.dropped, 0, slice.staleness};
  double sum = 0;
  for (std::size_t i = 0; i < slice.staleness.size(); ++i) {
    counts.applied += slice.staleness[i];
    sum += static_cast<double>(i) * static_cast<double>(slice.staleness[i]);
  }
  if (counts.applied > 0) counts.mean_staleness = sum / static_cast<double>(counts.applied);
  while (!counts.staleness.empty() && counts.staleness.back() == 0) counts.staleness.pop_back();
  return counts;
}

class Recording {
 public:
  Recording(const TrainOptions& given, TrainObserver& observer, const std::atomic<bool>& stop,
            const NodePlace& place)
      : began_(Clock::now()),
        data_(open_session_data(given)),
        options_(with_defaults(given, data_.train->info())),
        calendar_(options_, data_.train->info()),
        observer_(observer),
        stop_(stop),
        session_(options_, data_.train->info(), team_),
        rate_(options_.lr_schedule, options_.learning_rate, options_.warmup, options_.steps,
              calendar_.per_epoch),
        link_(place, session_, link_options()),
        checkpoints_(options_, team_, [&](const std::string& line) { observer_.on_warning(line); }) {
    if (data_.held_out != nullptr) evaluator_.emplace(session_, *data_.held_out, team_);
  }

  TrainResult run() {
    resume();
    announce();
    link_.meet();
    link_.give(step_);
    start_ = looked_ = Clock::now();
    while (!stop_.load() && !tests_.has_reached_target() && step_ < options_.steps) {
      if (!link_.is_asking()) ask();
      while (!stop_.load() && !try_take()) look();
    }
    return finish();
  }

 private:
  double epochs(double steps) const { return steps / static_cast<double>(calendar_.per_epoch); }
  double trained_until(TimePoint when) const { return trained_before_ + Seconds(when - start_).count(); }

  ServerLinkOptions link_options() const {
    const DisciplineKind kind = Discipline::parse(options_.sync).kind;
    ServerLinkOptions link;
    if (!options_.whole_tables) link.tables = find_tables(session_.model());
    link.optimizer = options_.optimizer;
    link.servers = options_.servers;
    link.rate = {options_.lr_schedule, options_.learning_rate, options_.warmup, options_.steps,
                 calendar_.per_epoch};
    link.is_in_step = kind == DisciplineKind::bsp || kind == DisciplineKind::kofn;
    return link;
  }

  void resume() {
    const std::optional<RunProgress> before =
        checkpoints_.resume([&](const CheckpointReader& reader) { session_.restore(reader, true); });
    if (!before) return;
    step_ = asked_ = recorded_ = saved_ = before->step;
    samples_before_ = before->samples;
    trained_before_ = 1e-9 * static_cast<double>(before->train_ns);
  }

  void announce() {
    const DataInfo& info = data_.train->info();
    const auto several = [](int count, const char* what) {
      return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    };
    observer_.on_start(fmt::format(
        "{} ({} parameters) on {} ({} samples, {} held out), batch {}, {} {:.4g}, {} steps, {} by {} and {}",
        options_.model, session_.parameter_count(), info.name, info.size,
        data_.held_out == nullptr ? 0 : data_.held_out->info().size, options_.batch, options_.optimizer.rule,
        options_.learning_rate, options_.steps, options_.sync, several(options_.workers, "worker"),
        several(options_.servers, "server")));
  }

  // Asks for the values that the next test or checkpoint needs, ahead of time: then a server answers with
  // those of that very step.
  void ask() {
    asked_ = calendar_.next_pause(asked_);
    link_.ask(asked_);
  }

  void look() {
    link_.pump(looked_ + std::chrono::duration_cast<Clock::duration>(kStatusLook));
    if (link_.status()) record(*link_.status());
    const TimePoint now = Clock::now();
    if (now - looked_ < kStatusLook) return;
    looked_ = now;
    link_.ask_for_status();
  }

  void record(const RangeStatus& status) {
    status_ = status;
    link_.forget_status();
    const std::int64_t at = steps_in(status.progress);
    if (first_step_seconds_ == 0 && status.progress.samples > 0) {
      first_step_seconds_ = Seconds(Clock::now() - began_).count();
    }
    if (at - recorded_ >= options_.log_every) record_step(status.progress);
  }

  void record_step(const RangeProgress& progress) {
    const auto samples = static_cast<double>(progress.samples - recorded_progress_.samples);
    if (samples <= 0) return;
    StepRecord record;
    record.step = steps_in(progress);
    record.total_steps = options_.steps;
    record.epoch = epochs(progress.batches);
    record.loss = (progress.loss - recorded_progress_.loss) / samples;
    record.learning_rate = rate_.at(std::max<std::int64_t>(0, record.step - 1));
    record.seconds = trained_until(Clock::now());
    record.samples_per_second = samples / std::max(1e-9, record.seconds - recorded_seconds_);
    recorded_ = record.step;
    recorded_progress_ = progress;
    recorded_seconds_ = record.seconds;
    last_loss_ = record.loss;
    record.is_emulated = is_emulated(options_);
    observer_.on_step(record);
  }

  // Takes the values if they are here; asks for the next before it tests and saves them.
  bool try_take() {
    const std::optional<RangeProgress> progress = link_.take();
    if (!progress) return false;
    const TimePoint now = Clock::now();
    took(*progress, now);
    if (asked_ < options_.steps) ask();
    if (step_ / calendar_.test_every > evaluated_ / calendar_.test_every || step_ >= options_.steps)
      evaluate(now);
    const std::int64_t every = options_.checkpoint_every;
    if (every > 0 && step_ / every > saved_ / every) save(now);
    return true;
  }

  void took(const RangeProgress& progress, TimePoint now) {
    step_ = std::min(steps_in(progress), options_.steps);
    samples_ = progress.samples;
    ended_ = now;
    record_step(progress);
  }

  void evaluate(TimePoint taken) {
    if (!evaluator_ || evaluated_ == step_) return;
    evaluated_ = step_;
    const TimePoint began = Clock::now();
    const Evaluation evaluation = evaluator_->run();
    span(Activity::evaluate, began);
    const EvalRecord record{step_,
                            epochs(static_cast<double>(step_)),
                            evaluation.loss,
                            evaluation.accuracy,
                            trained_until(taken),
                            evaluation.auc};
    tests_.add(record);
    observer_.on_eval(record);
  }

  void save(TimePoint taken) {
    if (!checkpoints_.wants(step_)) return;
    saved_ = step_;
    const TimePoint began = Clock::now();
    checkpoints_.save(session_.checkpoint(), {step_, samples_before_ + samples_,
                                              static_cast<std::int64_t>(1e9 * trained_until(taken)),
                                              position_after(step_, calendar_.per_epoch, options_.batch)});
    span(Activity::checkpoint, began);
  }

  void span(Activity activity, TimePoint began) {
    observer_.on_span(activity, began.time_since_epoch().count(), Clock::now().time_since_epoch().count());
  }

  // The values that were tested are the result where a target was reached; else those that the servers have
  // now.
  TrainResult finish() {
    const bool interrupted = stop_.load() && step_ < options_.steps && !tests_.has_reached_target();
    link_.ask_for_status();
    if (interrupted) {
      link_.ask(0);
      took(link_.wait_and_take(), Clock::now());
    }
    const TimePoint status_until = after(Seconds(1));
    while (!link_.status() && Clock::now() < status_until) link_.pump(after(kStatusLook));
    if (link_.status()) status_ = *link_.status();
    link_.end();
    if (!interrupted) evaluate(ended_);
    save(ended_);
    return result(interrupted);
  }

  TrainResult result(bool interrupted) {
    TrainResult result;
    result.steps = step_;
    result.samples = samples_before_ + samples_;
    result.parameters = session_.parameter_count();
    result.seconds.wall_seconds = Seconds(Clock::now() - began_).count();
    result.seconds.train_seconds = trained_until(ended_);
    for (const SliceStatus& slice : status_.slices) {
      RankSeconds seconds = result.seconds;
      seconds.compute_seconds = slice.account.compute_seconds;
      seconds.wait_seconds = slice.account.wait_seconds;
      seconds.cpu_seconds = slice.account.cpu_seconds;
      result.bytes_sent += slice.account.bytes_moved;
      result.messages_sent += slice.account.messages_sent;
      result.peak_rss_bytes = std::max(result.peak_rss_bytes, slice.account.peak_rss_bytes);
      result.ranks.push_back(seconds);
      result.gradients.push_back(counts_of(slice));
    }
    result.first_step_seconds = first_step_seconds_;
    result.train_loss = last_loss_;
    result.batch = options_.batch;
    result.total_steps = options_.steps;
    result.threads = kernel::num_threads();
    result.parameter_hash = session_.hash();
    result.interrupted = interrupted;
    tests_.put(result, interrupted);
    return result;
  }

  TimePoint began_;
  SessionData data_;
  TrainOptions options_;
  StepCalendar calendar_;
  TrainObserver& observer_;
  const std::atomic<bool>& stop_;
  Team team_;
  Session session_;
  LearningRate rate_;
  ServerLink link_;
  RunCheckpoints checkpoints_;
  std::optional<Evaluator> evaluator_;

  TimePoint start_, looked_, ended_;
  double trained_before_ = 0;
  double first_step_seconds_ = 0;
  std::int64_t step_ = 0;     // Of the session's values.
  std::int64_t asked_ = 0;    // The step whose values were asked for.
  std::int64_t samples_ = 0;  // Since the start of this process;
  std::int64_t samples_before_ = 0;
  std::int64_t recorded_ = 0;
  RangeProgress recorded_progress_;
  double recorded_seconds_ = 0;
  double last_loss_ = 0;
  std::int64_t evaluated_ = -1;
  std::int64_t saved_ = -1;
  RangeStatus status_;
  TestScores tests_{options_.target_accuracy};
};

}  // namespace

TrainResult record_for_servers(const TrainOptions& options, TrainObserver& observer,
                               const std::atomic<bool>& stop, const NodePlace& place) {
  kernel::set_num_threads(std::max(1, options.threads));
  return Recording(options, observer, stop, place).run();
}

}  // namespace hocket
