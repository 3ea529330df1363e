#include "report/serve/live_curves.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "report/run_data.h"
#include "report/serve/live_runs.h"
#include "train/json_text.h"

namespace hocket {
namespace {

constexpr std::size_t kMostPoints = 400;
constexpr std::size_t kSmoothedFrom = 100;  // Shorter curves are shown as they are.

void append(std::string& json, const std::string& name, const std::string& value) {
  json += fmt::format("{}{}:{}", json.empty() ? "" : ",", json_string(name), value);
}

std::string points_json(const Series& series) {
  std::string json;
  for (const Point& point : thin_out(series, kMostPoints)) {
    if (!std::isfinite(point.value)) continue;
    json += fmt::format("{}[{:.12g},{:.6g}]", json.empty() ? "" : ",", point.step, point.value);
  }
  return '[' + json + ']';
}

std::string metric_json(const RunData& run, const std::string& metric) {
  std::string json;
  for (const auto& [key, series] : run.series) {
    const std::string_view name = key;
    if (name == "train/" + metric) {
      const bool is_long = series.size() >= kSmoothedFrom;
      append(json, "train", points_json(is_long ? smooth(series) : series));
      if (is_long) append(json, "raw", points_json(series));
    } else if (name.starts_with("eval/") && name.ends_with('/' + metric)) {
      append(json, std::string(name.substr(5, name.rfind('/') - 5)), points_json(series));
    }
  }
  return json;
}

std::string curves_json(const RunData& run) {
  std::string json;
  for (const char* metric : {"loss", "accuracy"}) {
    const std::string curves = metric_json(run, metric);
    if (!curves.empty()) append(json, metric, '{' + curves + '}');
  }
  return '{' + json + '}';
}

}  // namespace

std::string LiveCurves::of(const std::filesystem::path& run_folder) {
  Known& known = known_[run_folder];
  const TimePoint now = Clock::now();
  if (now < known.next_read) return known.json;
  std::string version = version_of(run_folder);
  if (version == known.version) return known.json;
  try {
    known.json = curves_json(load_curves(run_folder));
  } catch (const Error&) {
    return "null";  // It has not begun to write, or is being moved aside.
  }
  known.version = std::move(version);
  known.next_read = Clock::now() + 9 * (Clock::now() - now);
  return known.json;
}

}  // namespace hocket
