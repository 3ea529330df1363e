#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/compare/train_way.h"
#include "report/comparison.h"

namespace hocket {

// What a comparison is to do, with all that it takes to go on with it later. A value type.
struct ComparePlan {
  Settings base;
  std::vector<TrainWay> ways;  // The baseline of each is among them.
  int seeds = 1;               // From the seed of `base` on.
  std::optional<double> target_error;
  Prices prices;
  bool checks_repeat = false;
};

// As the command line says. Throws ConfigError.
ComparePlan plan_of(const Arguments& arguments);

// plan.json, and what it says; the latter throws DataError where `text` is no such plan.
std::string to_json(const ComparePlan& plan);
ComparePlan parse_plan(std::string_view text, const std::string& where);

// The settings that differ from their defaults, as `--set` takes them.
std::vector<std::string> assignments_of(const Settings& settings);

// How one way is run.
struct PlannedWay {
  Settings settings;  // But for the seed; it tests at least ten times.
  std::int64_t steps = 0;
  std::int64_t batch = 0;
};

// Looks at the data once. Throws ConfigError or DataError where the model or the data are not there.
std::vector<PlannedWay> planned_ways(const ComparePlan& plan);

// The comparison before anything has run: every trial is pending.
Comparison planned_comparison(const ComparePlan& plan, const std::vector<PlannedWay>& ways);

}  // namespace hocket
