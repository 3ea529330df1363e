#include "cli/run_recorder.h"

#include "train/file_system.h"

namespace hocket {
RunRecorder::RunRecorder(const RunFolder& folder, std::string config, bool resumes, Progress& progress,
                         Communicator* communicator)
    : folder_(folder),
      config_(std::move(config)),
      resumes_(resumes),
      progress_(progress),
      spans_(communicator) {}

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
  row.tau = record.tau;
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
  row.auc = record.auc;
  row.consensus_distance = record.consensus_distance;
  log_after(record.step - 1).write(row);
  progress_.update(record);
}

void RunRecorder::on_span(Activity activity, std::int64_t start_ns, std::int64_t end_ns) {
  spans_.record(activity, start_ns, end_ns);
  if (activity == Activity::update) progress_.count_step();
}

}  // namespace hocket
