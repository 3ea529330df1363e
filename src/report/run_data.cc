#include "report/run_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/bubbles.h"
#include "train/file_system.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostSpans = 20'000;

// The file's text, or nothing where there is no such file.
std::optional<std::string> find_file(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  const Arena block = posix_file_system().read(path);
  return std::string(reinterpret_cast<const char*>(block.data()), block.size());
}

OrderedJson parse_object(std::string_view text, const std::string& where) {
  OrderedJson json = OrderedJson::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw DataError("{}: expected a JSON object", where);
  return json;
}

double number_or(const OrderedJson& object, const char* key, double otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : otherwise;
}

std::string text_or(const OrderedJson& object, const char* key, std::string otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::move(otherwise);
}

RankTimes rank_times(const OrderedJson& rank) {
  RankTimes times{.compute = number_or(rank, "compute_seconds", 0),
                  .communication = number_or(rank, "comm_seconds", 0),
                  .exposed = 0,
                  .wait = number_or(rank, "wait_seconds", 0),
                  .other = 0};
  times.exposed = number_or(rank, "exposed_comm_seconds", times.communication);
  const double known = times.compute + times.exposed + times.wait;
  times.other = std::max(0.0, number_or(rank, "train_seconds", 0) - known);
  return times;
}

void read_summary(const fs::path& path, RunData& run) {
  const auto text = find_file(path);
  if (!text) {
    run.notices.push_back("There is no summary.json: the run has not ended, or it was killed.");
    return;
  }
  const OrderedJson json = parse_object(*text, path.string());
  for (const auto& [key, value] : json.items()) {
    if (key == "ranks" && value.is_array()) {
      for (const OrderedJson& rank : value) run.ranks.push_back(rank_times(rank));
    } else {
      const std::string shown = value.is_string() ? value.get<std::string>()
                                : value.is_null() ? "–"
                                                  : value.dump();
      run.summary.emplace_back(key, shown);
    }
  }
}

// Adds the numbers of one row of metrics.jsonl to the series they belong to.
void add_row(const OrderedJson& row, RunData& run, std::map<std::string, std::size_t>& layer_index) {
  Point point{.step = number_or(row, "step", 0),
              .epoch = number_or(row, "epoch", 0),
              .seconds = number_or(row, "seconds", 0),
              .value = 0};
  const auto at = [&](const OrderedJson& value) {
    Point result = point;
    result.value = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    return result;
  };
  const bool is_eval = text_or(row, "kind", "train") == "eval";
  const std::string prefix = is_eval ? "eval/" + text_or(row, "set", "test") + "/" : "train/";
  for (const auto& [key, value] : row.items()) {
    if (key == "kind" || key == "step" || key == "epoch" || key == "seconds") continue;
    if (value.is_number() || value.is_null()) run.series[prefix + key].push_back(at(value));
    if (key != "gradient_norms" || !value.is_object()) continue;
    for (const auto& [layer, norm] : value.items()) {
      const auto [it, is_new] = layer_index.try_emplace(layer, run.layers.size());
      if (is_new) run.layers.emplace_back(layer, Series{});
      run.layers[it->second].second.push_back(at(norm));
    }
  }
}

void read_metrics(const fs::path& path, RunData& run) {
  const auto text = find_file(path);
  if (!text) {
    run.notices.push_back("There is no metrics.jsonl, so there are no curves.");
    return;
  }
  std::map<std::string, std::size_t> layer_index;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text->size(); ++line) {
    const std::size_t end = text->find('\n', begin);
    if (end == std::string::npos) break;  // The run is writing this line, or was killed while it did.
    const std::string_view row = std::string_view(*text).substr(begin, end - begin);
    if (!row.empty()) add_row(parse_object(row, fmt::format("{}:{}", path.string(), line)), run, layer_index);
    begin = end + 1;
  }
  const auto loss = run.series.find("train/loss");
  if (loss == run.series.end()) return;
  for (const Point& point : loss->second) {
    if (!std::isnan(point.value)) continue;
    run.notices.push_back(fmt::format("The training loss is not a finite number at step {}.", point.step));
    break;
  }
}

// Collects the spans of a Chrome trace under numbered lanes and names.
class TraceReader {
 public:
  explicit TraceReader(TraceData& trace) : trace_(trace) {}

  void read(const OrderedJson& event) {
    if (!event.is_object()) return;
    const std::string phase = text_or(event, "ph", "");
    const double pid = number_or(event, "pid", 0);
    const double tid = number_or(event, "tid", 0);
    if (phase == "M") {
      const auto args = event.find("args");
      if (args == event.end() || !args->is_object()) return;
      if (text_or(event, "name", "") == "process_name") processes_[pid] = text_or(*args, "name", "");
      if (text_or(event, "name", "") == "thread_name")
        trace_.lanes[lane(pid, tid)].thread = text_or(*args, "name", "");
    } else if (phase == "X") {
      const TraceName name{text_or(event, "name", ""), text_or(event, "cat", "")};
      trace_.spans.push_back(
          {lane(pid, tid), index_of(name), number_or(event, "ts", 0), number_or(event, "dur", 0)});
    }
  }

  void finish() {
    for (const auto& [key, index] : lanes_) {
      const auto process = processes_.find(key.first);
      trace_.lanes[index].process =
          process != processes_.end() ? process->second : fmt::format("process {}", key.first);
      if (trace_.lanes[index].thread.empty())
        trace_.lanes[index].thread = fmt::format("thread {}", key.second);
    }
    if (trace_.spans.size() <= kMostSpans) return;
    keep_newest();
  }

 private:
  // Of all ranks alike: each has its spans one after the other.
  void keep_newest() {
    const std::size_t surplus = trace_.spans.size() - kMostSpans;
    const auto is_earlier = [](const TraceSpan& a, const TraceSpan& b) { return a.start < b.start; };
    std::stable_sort(trace_.spans.begin(), trace_.spans.end(), is_earlier);
    trace_.spans.erase(trace_.spans.begin(), trace_.spans.begin() + static_cast<std::ptrdiff_t>(surplus));
    trace_.dropped += surplus;
  }

  std::size_t lane(double pid, double tid) {
    const auto [it, is_new] = lanes_.try_emplace({pid, tid}, trace_.lanes.size());
    if (is_new) trace_.lanes.emplace_back();
    return it->second;
  }

  std::size_t index_of(const TraceName& name) {
    const auto [it, is_new] = names_.try_emplace(name, trace_.names.size());
    if (is_new) trace_.names.push_back(name);
    return it->second;
  }

  TraceData& trace_;
  std::map<double, std::string> processes_;
  std::map<std::pair<double, double>, std::size_t> lanes_;
  std::map<TraceName, std::size_t> names_;
};

void read_trace(const fs::path& path, RunData& run) {
  const auto text = find_file(path);
  if (!text) return;
  const OrderedJson json = parse_object(*text, path.string());
  const auto events = json.find("traceEvents");
  if (events == json.end() || !events->is_array())
    throw DataError("{}: expected an array traceEvents", path.string());
  if (const auto other = json.find("otherData"); other != json.end() && other->is_object()) {
    run.trace.dropped =
        static_cast<std::uint64_t>(std::clamp(number_or(*other, "spans_dropped", 0), 0.0, 1e18));
  }
  TraceReader reader(run.trace);
  for (const OrderedJson& event : *events) reader.read(event);
  reader.finish();
}

// Of a pipeline, as its mesh says: "pp=2,dp=2".
int stages_of(const RunData& run) {
  const std::string mesh = run.find_summary("mesh").value_or("");
  const std::size_t at = mesh.find("pp=");
  return at == std::string::npos ? 1 : std::max(1, std::atoi(mesh.c_str() + at + 3));
}

RunData run_at(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw DataError("{}: no such run folder", folder.string());
  if (!fs::exists(folder / "metrics.jsonl", error) && !fs::exists(folder / "summary.json", error)) {
    throw DataError("{}: not a run folder; it has neither metrics.jsonl nor summary.json", folder.string());
  }
  RunData run;
  const fs::path name = fs::absolute(folder).lexically_normal();
  run.label = (name.has_filename() ? name : name.parent_path()).filename().string();
  return run;
}

}  // namespace

std::optional<std::string> RunData::find_summary(std::string_view key) const {
  for (const auto& [name, value] : summary) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::optional<std::string> RunData::find_text(std::string_view key) const {
  if (auto text = find_summary(key)) return text;
  for (const SettingText& setting : settings) {
    if (setting.key != fmt::format("train.{}", key) || setting.value == "\"auto\"") continue;
    const bool is_quoted = setting.value.size() > 1 && setting.value.front() == '"';
    return is_quoted ? setting.value.substr(1, setting.value.size() - 2) : setting.value;
  }
  return std::nullopt;
}

std::optional<double> RunData::find_number(std::string_view key) const {
  const auto text = find_summary(key);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  return end != text->c_str() && *end == '\0' ? std::optional(value) : std::nullopt;
}

RunData load_run(const fs::path& folder) {
  RunData run = run_at(folder);
  read_summary(folder / "summary.json", run);
  read_metrics(folder / "metrics.jsonl", run);
  if (const auto text = find_file(folder / "config.toml")) run.settings = parse_settings(*text);
  read_trace(folder / "trace.json", run);
  if (run.find_number("bubble_fraction")) {
    const double ranks = std::clamp(run.find_number("workers").value_or(1), 1.0, 1e6);
    mark_bubbles(run.trace, stages_of(run), static_cast<int>(ranks));
  }
  return run;
}

RunData load_curves(const fs::path& folder) {
  RunData run = run_at(folder);
  read_metrics(folder / "metrics.jsonl", run);
  return run;
}

std::vector<SettingText> parse_settings(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto trim = [&](std::string_view part) {
    const std::size_t begin = std::min(part.find_first_not_of(kBlank), part.size());
    return part.substr(begin, part.find_last_not_of(kBlank) + 1 - begin);
  };
  std::vector<SettingText> settings;
  std::string table;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[')) table = std::string(trim(line.substr(1, line.find(']') - 1))) + '.';
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('#') || line.starts_with('[') || equals == std::string_view::npos) continue;
    const std::string_view rest = trim(line.substr(equals + 3));
    std::size_t after = std::min(rest.find('#'), rest.size());
    if (rest.starts_with(
            '"')) {  // A string may hold a '#'; it ends at the first quote that no backslash hides.
      for (after = 1; after < rest.size() && rest[after] != '"'; ++after)
        after += rest[after] == '\\' ? 1 : 0;
      after = std::min(after + 1, rest.size());
    }
    const std::size_t comment = std::min(rest.find('#', after), rest.size());
    const std::string_view origin = comment < rest.size() ? trim(rest.substr(comment + 1)) : "";
    settings.push_back({table + std::string(trim(line.substr(0, equals))),
                        std::string(trim(rest.substr(0, after))), std::string(origin)});
  }
  return settings;
}

}  // namespace hocket
