#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/series.h"

namespace hocket {

// One line of config.toml: the key with its table, the value as written, and where it came from.
struct SettingText {
  std::string key;
  std::string value;
  std::string origin;
};

// One thread of one rank.
struct TraceLane {
  std::string process;
  std::string thread;
};

struct TraceName {
  std::string text;
  std::string kind;
  bool operator<(const TraceName& other) const {
    return std::tie(text, kind) < std::tie(other.text, other.kind);
  }
};

// Microseconds.
struct TraceSpan {
  std::size_t lane = 0;
  std::size_t name = 0;
  double start = 0;
  double duration = 0;
};

struct TraceData {
  std::vector<TraceLane> lanes;
  std::vector<TraceName> names;
  std::vector<TraceSpan> spans;
  std::uint64_t dropped = 0;  // Spans that were recorded but are not here.
};

// Seconds of training of one rank: compute, exposed, wait and other make them up.
struct RankTimes {
  double compute = 0;
  double communication = 0;  // Also what went on while it computed.
  double exposed = 0;        // Waiting for communication.
  double wait = 0;           // For data.
  double other = 0;
};

// What a report shows of one run. A value type.
struct RunData {
  std::string label;                                         // The folder's name.
  std::vector<std::pair<std::string, std::string>> summary;  // Keys and values as text, in the file's order.
  std::vector<RankTimes> ranks;
  std::vector<SettingText> settings;
  std::map<std::string, Series> series;                // "train/loss", "eval/test/accuracy", …
  std::vector<std::pair<std::string, Series>> layers;  // Gradient norms, in the model's order.
  TraceData trace;
  std::vector<std::string> notices;  // What is missing, in whole sentences.

  std::optional<std::string> find_summary(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;
  // What the summary says, or, of a run that has none, what it was told.
  std::optional<std::string> find_text(std::string_view key) const;
  bool is_emulated() const { return find_summary("emulated") == "true"; }
};

// Reads a run folder, also of a run that is under way or was killed. Throws DataError where it is no run
// folder or a file in it is not what it claims to be.
RunData load_run(const std::filesystem::path& folder);
// Its label and series alone.
RunData load_curves(const std::filesystem::path& folder);

// The lines of a config.toml as render_config() writes it.
std::vector<SettingText> parse_settings(std::string_view text);

}  // namespace hocket
