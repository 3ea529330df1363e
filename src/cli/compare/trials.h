#pragma once

#include <atomic>
#include <filesystem>
#include <vector>

#include "cli/compare/compare_plan.h"
#include "cli/compare/compare_progress.h"

namespace hocket {

// Takes over what runs below `out` came to that have ended already. What was interrupted starts anew: one run
// in two parts would not compare with a whole one.
void load_trials(const std::filesystem::path& out, Comparison& comparison);

// Runs what is pending, one process after the other, each seed of all ways before the next seed, so that what
// else the machine does hits all ways alike. A run that fails is a row with its reason. Ends early, with the
// rest pending, when `stop` becomes true.
void run_trials(const std::vector<PlannedWay>& ways, const std::filesystem::path& out, Comparison& comparison,
                CompareProgress& progress, const std::atomic<bool>& stop);

}  // namespace hocket
