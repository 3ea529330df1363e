#pragma once

#include <optional>
#include <string>

#include "cli/progress.h"
#include "train/metrics.h"
#include "train/run_folder.h"
#include "train/span_recorder.h"
#include "train/trainer.h"

namespace hocket {

// Writes down a run while it goes on: rows to metrics.jsonl, spans to a timeline, all of it to the progress
// display. The folder's files are touched only once training starts. Used by the training thread; throws
// Error when the disk is full.
class RunRecorder final : public TrainObserver {
 public:
  // `config` is what config.toml will hold.
  RunRecorder(const RunFolder& folder, std::string config, bool resumes, Progress& progress,
              Communicator* communicator);

  void on_start(const std::string& what) override;
  void on_step(const StepRecord& record) override;
  void on_eval(const EvalRecord& record) override;
  void on_warning(const std::string& line) override { progress_.warn("hocket: " + line); }
  void on_span(Activity activity, std::int64_t start_ns, std::int64_t end_ns) override;

  bool has_started() const { return has_started_; }
  double epoch() const { return epoch_; }
  const Timeline& timeline() const { return spans_.timeline(); }

 private:
  MetricsLog& log_after(std::int64_t last_step);

  const RunFolder& folder_;
  std::string config_;
  bool resumes_;
  Progress& progress_;
  std::optional<MetricsLog> log_;
  SpanRecorder spans_;
  bool has_started_ = false;
  double epoch_ = 0;
};

}  // namespace hocket
