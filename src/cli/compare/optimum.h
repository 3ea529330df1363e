#pragma once

#include <atomic>
#include <filesystem>
#include <vector>

#include "cli/compare/compare_plan.h"

namespace hocket {

// For models whose training loss is convex and has no penalty: finds its least value, by L-BFGS on all the
// data in a run of its own below `out`, and the value that every run that was done has come to. Other models,
// and a search that fails or is stopped, are left alone.
void judge_by_optimum(const std::vector<PlannedWay>& ways, const std::filesystem::path& out,
                      Comparison& comparison, const std::atomic<bool>& stop);

}  // namespace hocket
