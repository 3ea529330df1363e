#include "cli/run_recorder.h"

#include <chrono>

#include "train/file_system.h"

namespace hocket {
namespace {

Timeline::Time steady_time(std::int64_t nanoseconds) {
  return Timeline::Time(
      std::chrono::duration_cast<Timeline::Time::duration>(std::chrono::nanoseconds(nanoseconds)));
}

}  // namespace

RunRecorder::RunRecorder(const RunFolder& folder, std::string config, bool resumes, Progress& progress)
    : folder_(folder), config_(std::move(config)), resumes_(resumes), progress_(progress) {
  const auto add = [&](Activity activity, std::string name, SpanKind kind) {
    names_[static_cast<std::size_t>(activity)] = timeline_.add_name(std::move(name), kind);
  };
  add(Activity::data, "next batch", SpanKind::data);
  add(Activity::forward, "forward", SpanKind::compute);
  add(Activity::backward, "backward", SpanKind::compute);
  add(Activity::communicate, "all-reduce", SpanKind::communication);
  add(Activity::update, "update", SpanKind::compute);
  add(Activity::evaluate, "evaluate", SpanKind::eval);
  add(Activity::checkpoint, "checkpoint", SpanKind::checkpoint);
  thread_ = timeline_.add_thread("training");
}

void RunRecorder::on_start(const std::string& what) {
  write_file_atomically(posix_file_system(), folder_.config_file(), config_);
  has_started_ = true;
  progress_.note(what);
}

// The log is opened with its first row: only then is it known after which step a resumed run goes on.
MetricsLog& RunRecorder::log_after(std::int64_t last_step) {
  if (!log_ && resumes_) log_.emplace(folder_.metrics_file(), last_step);
  if (!log_) log_.emplace(folder_.metrics_file());
  return *log_;
}

void RunRecorder::on_step(const StepRecord& record) {
  epoch_ = record.epoch;
  TrainMetrics row;
  row.step = record.step;
  row.epoch = record.epoch;
  row.seconds = record.seconds;
  row.loss = record.loss;
  row.learning_rate = record.learning_rate;
  row.samples_per_second = record.samples_per_second;
  row.gradient_norm = record.gradient_norm;
  row.gradient_norms = record.gradient_norms;
  log_after(record.step - 1).write(row);
  progress_.update(record);
}

void RunRecorder::on_eval(const EvalRecord& record) {
  EvalMetrics row;
  row.step = record.step;
  row.epoch = record.epoch;
  row.seconds = record.seconds;
  row.loss = record.loss;
  row.accuracy = record.accuracy;
  log_after(record.step - 1).write(row);
  progress_.update(record);
}

void RunRecorder::on_span(Activity activity, std::int64_t start_ns, std::int64_t end_ns) {
  timeline_.record(names_[static_cast<std::size_t>(activity)], thread_, steady_time(start_ns),
                   steady_time(end_ns));
  if (activity == Activity::update) progress_.count_step();
}

}  // namespace hocket
