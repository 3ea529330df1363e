#include "cli/compare/train_way.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "graph/mesh.h"
#include "sync/discipline.h"

namespace hocket {
namespace {

constexpr std::size_t kWorkersColumn = 0;
constexpr std::size_t kMeshColumn = 1;
constexpr std::size_t kSyncColumn = 2;
constexpr std::size_t kScheduleColumn = 3;
constexpr std::string_view kAllReduce = "allreduce";

// The axes of a mesh but for dp, which is data parallelism as without a mesh.
std::string cut_axes(const std::string& mesh) {
  if (mesh == "auto") return "";
  std::string text;
  const Mesh parsed = Mesh::parse(mesh, 0);
  for (const Mesh::Axis& axis : parsed.axes()) {
    if (axis.name == "dp" || axis.size == 1) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

std::string nothing(const std::string&) { return ""; }

std::string workers_word(const std::string& value, bool) {
  return value == "1" ? "1 worker" : value + " workers";
}

std::string mesh_word(const std::string& value, bool) { return cut_axes(value); }
std::string mesh_knob(const std::string& value) { return cut_axes(value).empty() ? "" : "mesh"; }
std::string mesh_assumption(const std::string& value) {
  const std::string axes = cut_axes(value);
  if (axes.empty()) return "";
  if (axes.find("tp=") == std::string::npos)
    return "a pipeline assumes stages of equal work, and more micro-batches than stages";
  return "tensor parallel assumes a link that carries activations and their gradients within every layer, in "
         "the "
         "middle of each step";
}

std::string sync_word(const std::string& value, bool) { return value == kAllReduce ? "" : value; }
// The options that stand in its canonical text: those that must be chosen, and those that were.
std::string sync_knob(const std::string& value) {
  std::string names;
  std::string text = Discipline::parse(value).text();
  for (std::size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',')) {
    text = text.substr(comma + 1);
    names += fmt::format("{}{}", names.empty() ? "" : ",", text.substr(0, text.find('=')));
  }
  return names;
}
std::string sync_assumption(const std::string& value) {
  switch (Discipline::parse(value).kind) {
    case DisciplineKind::allreduce: return "";
    case DisciplineKind::bsp:
      return "ps:bsp assumes equal workers, as each step waits for the slowest, and servers whose links "
             "carry the "
             "gradients and parameters of all workers";
    case DisciplineKind::ssp:
      return "ps:ssp assumes that gradients a few steps old still point downhill, and that no worker is slow "
             "for long";
    case DisciplineKind::asp:
      return "ps:asp assumes that gradients as old as the others are fast still point downhill, at this rate";
    case DisciplineKind::kofn:
      return "ps:kofn assumes that the samples of the slow workers can be done without";
    case DisciplineKind::softsync:
      return "ps:softsync assumes that staleness stays near n, as among workers of like speed";
    case DisciplineKind::downpour:
      return "downpour assumes that replicas that drift apart between pushes still agree on where downhill "
             "is";
    case DisciplineKind::gossip:
      return "gossip assumes equal workers, as each step waits for the slowest neighbour, and a graph whose "
             "spectral gap is large enough to keep the replicas together at this rate";
    case DisciplineKind::gossip_async:
      return "gossip-async assumes that gradients at replicas that differ, and that averaging changes "
             "meanwhile, still point downhill";
    case DisciplineKind::sandblaster:
      return "sandblaster assumes that a pass over all the data for each step of L-BFGS is worth its while";
    case DisciplineKind::average:
      return "average assumes that the mean of models trained apart is a good model, as it is for convex "
             "losses";
    case DisciplineKind::mllib:
      return "mllib assumes a driver whose link carries the models of all workers, both ways, in every step";
    case DisciplineKind::mapreduce:
      return "mapreduce assumes that a pass over all the data for each step is worth its while, and that "
             "disks "
             "and the driver's link are fast";
    case DisciplineKind::adacomm:
      return "adacomm assumes, as local does, that replicas stay near each other, and that the loss tells "
             "how "
             "near they have to be";
    case DisciplineKind::local:
      return "local assumes that replicas that take a few steps by themselves stay near each other: samples "
             "dealt "
             "at random and a rate that is small against their number";
    case DisciplineKind::hogwild:
      return "hogwild assumes that updates touch few parameters, so that threads seldom meet, and one "
             "machine's memory";
  }
  return "";
}

std::string schedule_word(const std::string& value, bool) { return value == "auto" ? "" : value; }
std::string schedule_knob(const std::string& value) { return value == "auto" ? "" : "schedule"; }
std::string schedule_assumption(const std::string& value) {
  if (value.starts_with("pipedream"))
    return "pipedream assumes that gradients of weights as many updates old as stages are behind still point "
           "downhill, and memory for those weights";
  return value.starts_with("interleaved")
             ? "interleaved assumes links that carry activations chunks times as often"
             : "";
}

std::string micro_batches_word(const std::string& value, bool varies) {
  return varies ? value + " micro-batches" : "";
}
std::string micro_batches_knob(const std::string& value) { return value == "1" ? "" : "microbatches"; }

std::string zero_word(const std::string& value, bool) { return value == "0" ? "" : "ZeRO " + value; }
std::string zero_knob(const std::string& value) { return value == "0" ? "" : "zero"; }
std::string zero_assumption(const std::string& value) {
  if (value == "0") return "";
  if (value == "3")
    return "ZeRO 3 assumes that gathering every parameter twice a step is cheaper than memory";
  return fmt::format("ZeRO {} assumes that memory is short: it sends what all-reduce sends, in two halves",
                     value);
}

std::string batch_word(const std::string& value, bool varies) {
  if (!varies) return "";
  return value == "auto" ? "default batch" : "batch " + value;
}

std::string rule_word(const std::string& value, bool varies) { return varies ? "lr " + value : ""; }
std::string rule_knob(const std::string& value) { return value == "linear" ? "lr_base_batch" : ""; }
std::string rule_assumption(const std::string& value) {
  if (value != "linear") return "";
  return "the linear rule assumes that k times the batch stands k times the rate, which fails early in "
         "training "
         "and for large batches";
}

const Key& key_of(const WayColumn& column) { return *find_key(column.key); }

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// As text_of() writes it, so that equal values are equal texts.
std::string canonical(const Key& key, const std::string& value) {
  TrainOptions options;
  assign(key, value, options, "--" + key.flag());
  return text_of(key, options);
}

std::vector<std::string> values_of(const WayColumn& column, const Arguments& arguments,
                                   const Settings& base) {
  const Key& key = key_of(column);
  if (!arguments.has(key.flag())) return {text_of(key, base.train_options())};
  std::vector<std::string> values;
  for (const std::string& list : arguments.all(key.flag())) {
    for (const std::string& value : split(list, column.separator)) values.push_back(canonical(key, value));
  }
  return values;
}

// With the number of workers that its mesh says, and with one worker like any other way of one worker.
TrainWay normal(TrainWay way) {
  const std::string& workers = way.values[kWorkersColumn];
  const std::string& mesh = way.values[kMeshColumn];
  const auto count = parse_integer(workers).value_or(0);
  try {
    const int size = Mesh::parse(mesh == "auto" ? "" : mesh, static_cast<int>(count)).size();
    way.values[kWorkersColumn] = std::to_string(size);
  } catch (const ConfigError& error) {
    throw ConfigError("compare: workers {}, mesh {}: {}; without --workers the mesh says how many", workers,
                      mesh, error.what());
  }
  if (cut_axes(mesh).find("pp=") == std::string::npos) way.values[kScheduleColumn] = "auto";
  return way.values[kWorkersColumn] == "1" ? baseline_of(way) : way;
}

void add_once(const TrainWay& way, std::vector<TrainWay>& ways) {
  if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
}

bool varies(std::size_t column, std::span<const TrainWay> all) {
  return std::any_of(all.begin(), all.end(),
                     [&](const TrainWay& way) { return way.values[column] != all.front().values[column]; });
}

// The words of a way from column `first` on, after those already in `text`.
std::string words_of(const TrainWay& way, std::span<const TrainWay> all, std::size_t first,
                     std::string text) {
  const std::span<const WayColumn> columns = way_columns();
  for (std::size_t i = first; i < columns.size(); ++i) {
    const std::string word = columns[i].word(way.values[i], varies(i, all));
    if (word.empty()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : i <= kSyncColumn ? " " : ", ", word);
  }
  return text;
}

}  // namespace

std::span<const WayColumn> way_columns() {
  static const std::vector<WayColumn> columns{
      {"train.workers", ',', "1", workers_word, nothing, nothing},
      {"train.mesh", ';', "auto", mesh_word, mesh_knob, mesh_assumption},
      {"train.sync", ';', std::string(kAllReduce), sync_word, sync_knob, sync_assumption},
      {"train.schedule", ';', "auto", schedule_word, schedule_knob, schedule_assumption},
      {"train.microbatches", ',', "", micro_batches_word, micro_batches_knob, nothing},
      {"train.zero", ',', "0", zero_word, zero_knob, zero_assumption},
      {"train.batch", ',', "", batch_word, nothing, nothing},
      {"train.lr_rule", ',', "", rule_word, rule_knob, rule_assumption},
  };
  return columns;
}

TrainWay baseline_of(const TrainWay& way) {
  TrainWay baseline = way;
  const std::span<const WayColumn> columns = way_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].alone.empty()) baseline.values[i] = columns[i].alone;
  }
  return baseline;
}

std::vector<TrainWay> listed_ways(const Arguments& arguments, const Settings& base) {
  std::vector<TrainWay> product{TrainWay()};
  for (const WayColumn& column : way_columns()) {
    std::vector<TrainWay> longer;
    for (const std::string& value : values_of(column, arguments, base)) {
      for (TrainWay way : product) {
        way.values.push_back(value);
        longer.push_back(std::move(way));
      }
    }
    product = std::move(longer);
  }
  std::vector<TrainWay> ways;
  for (const TrainWay& way : product) {
    const TrainWay its = normal(way);
    add_once(baseline_of(its), ways);
    add_once(its, ways);
  }
  return ways;
}

Settings settings_of(const TrainWay& way, const Settings& base, const std::string& origin) {
  Settings settings = base;
  const std::span<const WayColumn> columns = way_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Key& key = key_of(columns[i]);
    if (text_of(key, base.train_options()) == way.values[i]) continue;
    settings.set(key, way.values[i], "--" + key.flag(), origin);
  }
  const Key& slow = *find_key("train.slow");  // Names workers, which one alone is not.
  if (workers_of(way) == 1 && !base.train_options().slow.empty())
    settings.set(slow, "auto", "--slow", origin);
  return settings;
}

int workers_of(const TrainWay& way) {
  return static_cast<int>(parse_integer(way.values[kWorkersColumn]).value_or(1));
}

std::string label_of(const TrainWay& way, std::span<const TrainWay> all) { return words_of(way, all, 0, ""); }

std::string group_of(const TrainWay& way, std::span<const TrainWay> all) {
  const std::string mesh = cut_axes(way.values[kMeshColumn]);
  std::string axes;  // Without their sizes: those grow with the workers.
  for (const std::string& axis : mesh.empty() ? std::vector<std::string>() : split(mesh, ',')) {
    axes += fmt::format("{}{}", axes.empty() ? "" : ",", axis.substr(0, axis.find('=')));
  }
  const bool is_plain = axes.empty() && way.values[kSyncColumn] == kAllReduce;
  return words_of(way, all, kMeshColumn + 1, is_plain ? "all-reduce" : axes);
}

std::string folder_name(std::string_view label) {
  std::string name;
  for (const char c : label) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '=';
    if (is_plain) name += c;
    if (!is_plain && !name.empty() && name.back() != '-') name += '-';
  }
  return name;
}

std::vector<std::string> knobs_of(const TrainWay& way) {
  std::vector<std::string> knobs;
  for (std::size_t i = 0; i < way.values.size(); ++i) {
    const std::string words = way_columns()[i].knob(way.values[i]);
    for (const std::string& knob : words.empty() ? std::vector<std::string>() : split(words, ',')) {
      knobs.push_back(knob);
    }
  }
  return knobs;
}

std::string assumption_of(const TrainWay& way) {
  std::string text = "one process: nothing is assumed of others";
  if (way.values[kSyncColumn] != kAllReduce) {
    return sync_assumption(way.values[kSyncColumn]);
  }
  if (workers_of(way) > 1) {
    text =
        "synchronous all-reduce assumes equal workers, as each step waits for the slowest, and a network "
        "that "
        "carries 2N(P-1)/P bytes a step and worker, N being the bytes of all gradients";
    if (!cut_axes(way.values[kMeshColumn]).empty()) text = "each step waits for the slowest worker";
  }
  for (std::size_t i = 0; i < way.values.size(); ++i) {
    const std::string more = way_columns()[i].assumption(way.values[i]);
    if (!more.empty()) text += "; " + more;
  }
  return text;
}

}  // namespace hocket
