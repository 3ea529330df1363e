#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "cli/run.h"

namespace hocket {

// The runs of a K-fold cross-validation; the last one may have been interrupted.
struct CrossValidation {
  RunFolder folder;
  int folds = 0;
  std::vector<Run> runs;

  int exit_code(int when_interrupted) const;
};

// True when folds are asked for and none in particular.
bool is_cross_validation(const Settings& settings);

// Trains once per fold, each in a folder fold-I of its own, and writes the mean and deviation over them to
// summary.json and all the curves to report.html. Throws what execute_run() throws.
CrossValidation cross_validate(const Settings& settings, const RunFolder& folder, const Start& start,
                               Progress& progress, const std::atomic<bool>& stop, Team& team);

std::string describe(const CrossValidation& all);
std::string to_json(const CrossValidation& all);

}  // namespace hocket
