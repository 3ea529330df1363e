#pragma once

#include <atomic>
#include <string>

#include "cli/progress.h"
#include "cli/settings.h"
#include "train/node_place.h"
#include "train/run_folder.h"
#include "train/summary.h"
#include "train/trainer.h"

namespace hocket {

// One run from its settings to its summary.
struct Run {
  RunFolder folder;
  Summary summary;
  TrainResult result;

  int exit_code(int when_interrupted) const;
};

// How a run begins.
struct Start {
  bool resumes = false;
  int restarts = 0;  // How often its workers were started before.
};

// Trains as `settings` say, or leads the workers of a parameter server as the recorder at `place`; the first
// rank of the team leaves config.toml, metrics.jsonl, checkpoints, trace.json, summary.json and report.html
// in `folder`, and shows the progress. Throws what train() throws; a run that fails after its start leaves a
// summary with status "failed".
Run execute_run(const Settings& settings, const RunFolder& folder, const Start& start, Progress& progress,
                const std::atomic<bool>& stop, Team& team, const NodePlace* place = nullptr);

// The summary of a run that failed after its start.
void leave_failed(const RunFolder& folder, const TrainOptions& options, const Start& start,
                  const Team& team) noexcept;

// The closing lines for people.
std::string describe(const Run& run);

// The run's summary with the place of its folder, as --json prints it.
std::string run_json(const Run& run);

}  // namespace hocket
