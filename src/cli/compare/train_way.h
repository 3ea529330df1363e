#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/settings.h"

namespace hocket {

// A key of `hocket train` of which `hocket compare` takes several values. A further column of ways, such as a
// discipline, is one more row of way_columns().
struct WayColumn {
  std::string key;       // "train.workers"
  char separator = ',';  // Between the values of one list.
  std::string alone{};   // Its value with one worker; empty: the same as with several.
  std::string (*word)(const std::string& value, bool varies);  // In the way's label; may be empty.
  // What the value adds: knobs beyond those of one worker, separated by commas, and a sentence on what it
  // takes for granted.
  std::string (*knob)(const std::string& value);
  std::string (*assumption)(const std::string& value);
};
std::span<const WayColumn> way_columns();

// One way to train: a value for each column.
struct TrainWay {
  std::vector<std::string> values;
  bool operator==(const TrainWay&) const = default;
};

// The ways that the command line lists: the product of its columns, where one that is not listed has the
// value of `base`. One worker alone comes before the ways it is the baseline of, whether listed or not.
// Throws ConfigError for a value that its key refuses and for a mesh that does not fit the workers.
std::vector<TrainWay> listed_ways(const Arguments& arguments, const Settings& base);

// `base` with the values of `way`.
Settings settings_of(const TrainWay& way, const Settings& base, const std::string& origin);

int workers_of(const TrainWay& way);
TrainWay baseline_of(const TrainWay& way);

// Words for people: "2 workers tp=2, batch 64"; the same without the number of workers, and with nothing but
// letters, digits, - and = for a folder. Batches and rules are named only where the ways differ in them.
std::string label_of(const TrainWay& way, std::span<const TrainWay> all);
std::string group_of(const TrainWay& way, std::span<const TrainWay> all);
std::string folder_name(std::string_view label);

std::vector<std::string> knobs_of(const TrainWay& way);
std::string assumption_of(const TrainWay& way);

}  // namespace hocket
