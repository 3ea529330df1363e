#include "cli/explain_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantity.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kPhaseNames[kPhases] = {"forward", "backward", "update"};

std::string_view name_of(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

std::string size_of_bytes(std::uint64_t bytes) { return size_text(static_cast<double>(bytes)); }

// Characters, not bytes: names and arrows may be UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Rows of cells, each column as wide as its widest cell. Numbers stand to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<bool> is_number) : is_number_(std::move(is_number)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<std::size_t> widths(is_number_.size(), 0);
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string text;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string gap(widths[i] - width_of(row[i]), ' ');
        text += is_number_[i] ? gap + row[i] : i + 1 < row.size() ? row[i] + gap : row[i];
        text += i + 1 < row.size() ? "  " : "\n";
      }
    }
    return text;
  }

 private:
  std::vector<bool> is_number_;  // By column.
  std::vector<std::vector<std::string>> rows_;
};

std::string collectives_text(const ExplainedRun& run) {
  TextTable table({false, false, false, false, false, true, true, false});
  table.add({"phase", "collective", "along", "value", "type", "bytes", "predicted", "why"});
  for (std::size_t i = 0; i < run.step.collectives.size(); ++i) {
    const StepCollective& item = run.step.collectives[i];
    const std::string times = item.times > 1 ? fmt::format(" ×{}", item.times) : "";
    table.add({std::string(name_of(item.phase)) + times, std::string(name_of(item.collective)),
               fmt::format("{} (ranks {})", item.axis, fmt::join(item.ranks, ",")), item.value,
               to_string(item.type), size_of_bytes(item.bytes), seconds_text(run.prices[i].seconds),
               fmt::format("{} → {}, for {}", item.from, item.to, item.reader)});
  }
  return run.step.collectives.empty() ? "The step communicates nothing.\n" : table.text();
}

double seconds_of(const ExplainedRun& run, const std::string& axis, Phase phase) {
  double seconds = 0;
  for (std::size_t i = 0; i < run.step.collectives.size(); ++i) {
    const StepCollective& item = run.step.collectives[i];
    if (item.axis == axis && item.phase == phase) seconds += item.times * run.prices[i].seconds;
  }
  return seconds;
}

std::string totals_text(const ExplainedRun& run) {
  if (run.step.collectives.empty()) return "";
  TextTable table({false, false, true, true, true});
  table.add({"along", "phase", "collectives", "a rank sends", "predicted"});
  StepTotal all;
  for (const auto& [key, total] : totals_of(run.step)) {
    table.add({key.first, std::string(name_of(key.second)), std::to_string(total.count),
               size_of_bytes(total.sent_bytes), seconds_text(seconds_of(run, key.first, key.second))});
    all.count += total.count;
    all.sent_bytes += total.sent_bytes;
  }
  table.add({"a step", "", std::to_string(all.count), size_of_bytes(all.sent_bytes),
             seconds_text(run.price.seconds)});
  return '\n' + table.text();
}

std::string buckets_text(const ExplainedRun& run) {
  if (run.step.buckets.empty()) return "";
  TextTable table({false, true, true, true, false});
  table.add({"bucket", "parameters", "bytes", "a rank owns", "from … to"});
  for (const StepBucket& bucket : run.step.buckets) {
    table.add({bucket.name, std::to_string(bucket.parameters.size()), size_of_bytes(bucket.bytes),
               bucket.slice_bytes == 0 ? "all" : size_of_bytes(bucket.slice_bytes),
               fmt::format("{} … {}", bucket.parameters.front(), bucket.parameters.back())});
  }
  return '\n' + table.text();
}

std::string footprint_text(const StepFootprint& footprint) {
  TextTable table({false, true});
  table.add({"a rank keeps", size_of_bytes(footprint.kept())});
  table.add({"  parameters", size_of_bytes(footprint.parameters)});
  table.add({"  gradients", size_of_bytes(footprint.gradients)});
  table.add({"  optimizer state", size_of_bytes(footprint.state)});
  if (footprint.buffers > 0) table.add({"  running statistics", size_of_bytes(footprint.buffers)});
  table.add({"within a step", size_of_bytes(footprint.activations)});
  if (footprint.gathered > 0)
    table.add({"  of it parameters made whole, at most", size_of_bytes(footprint.gathered)});
  return '\n' + table.text();
}

std::string verdict(const ExplainedRun& run) {
  const StepPrice& own = run.price;
  const StepPrice& other = run.other_order->price;
  if (own.seconds == other.seconds) return "Both orders cost the same here.";
  const bool is_better = own.seconds < other.seconds;
  const std::string& best = is_better ? run.mesh : run.other_order->mesh;
  const StepPrice& less = is_better ? own : other;
  const StepPrice& more = is_better ? other : own;
  const std::string neighbours = best.substr(best.rfind(',') + 1);
  const std::string inside = neighbours.substr(0, neighbours.find('='));
  const std::string why =
      less.host_bytes < more.host_bytes
          ? fmt::format("the ranks along {} are neighbours, and {} less crosses hosts", inside,
                        size_of_bytes(more.host_bytes - less.host_bytes))
      : less.rack_bytes < more.rack_bytes
          ? fmt::format("{} less crosses racks", size_of_bytes(more.rack_bytes - less.rack_bytes))
          : "its collectives wait less for shared links";
  return fmt::format("{} is better, {:.2f} times as fast: {}.", best, more.seconds / less.seconds, why);
}

std::string orders_text(const ExplainedRun& run) {
  if (!run.other_order) return "";
  TextTable table({false, true, true, true});
  const auto add = [&](const std::string& mesh, const StepPrice& price) {
    table.add({mesh, size_of_bytes(price.host_bytes), size_of_bytes(price.rack_bytes),
               seconds_text(price.seconds)});
  };
  table.add({"mesh", "crosses hosts", "crosses racks", "predicted"});
  add(run.mesh, run.price);
  add(run.other_order->mesh, run.other_order->price);
  return '\n' + table.text() + verdict(run) + '\n';
}

OrderedJson to_json(const StepPrice& price) {
  return {{"predicted_seconds", price.seconds},
          {"cross_host_bytes", price.host_bytes},
          {"cross_rack_bytes", price.rack_bytes}};
}

OrderedJson collectives_json(const ExplainedRun& run) {
  OrderedJson items = OrderedJson::array();
  for (std::size_t i = 0; i < run.step.collectives.size(); ++i) {
    const StepCollective& item = run.step.collectives[i];
    items.push_back({{"phase", name_of(item.phase)},
                     {"collective", name_of(item.collective)},
                     {"axis", item.axis},
                     {"ranks", item.ranks},
                     {"value", item.value},
                     {"type", to_string(item.type)},
                     {"from", item.from},
                     {"to", item.to},
                     {"reader", item.reader},
                     {"times", item.times},
                     {"bytes", item.bytes},
                     {"sent_bytes", item.sent_bytes},
                     {"algorithm", name_of(run.prices[i].algorithm)},
                     {"predicted_seconds", run.prices[i].seconds}});
  }
  return items;
}

OrderedJson totals_json(const ExplainedRun& run) {
  OrderedJson items = OrderedJson::array();
  for (const auto& [key, total] : totals_of(run.step)) {
    items.push_back({{"axis", key.first},
                     {"phase", name_of(key.second)},
                     {"collectives", total.count},
                     {"sent_bytes", total.sent_bytes},
                     {"predicted_seconds", seconds_of(run, key.first, key.second)}});
  }
  return items;
}

OrderedJson buckets_json(const ExplainedRun& run) {
  OrderedJson items = OrderedJson::array();
  for (const StepBucket& bucket : run.step.buckets) {
    items.push_back({{"name", bucket.name},
                     {"parameters", bucket.parameters},
                     {"bytes", bucket.bytes},
                     {"slice_bytes", bucket.slice_bytes}});
  }
  return items;
}

}  // namespace

std::string explain_as_text(const ExplainedRun& run) {
  return fmt::format(
             "{} on {}, the step of rank 0: batch {}, ZeRO {}, times on {} ({} host{}, {} rack{})\n\n",
             run.model, run.mesh, run.batch, run.zero, run.topology, run.hosts, run.hosts == 1 ? "" : "s",
             run.racks, run.racks == 1 ? "" : "s") +
         collectives_text(run) + totals_text(run) + buckets_text(run) + footprint_text(run.step.footprint) +
         orders_text(run);
}

std::string explain_as_json(const ExplainedRun& run) {
  const StepFootprint& footprint = run.step.footprint;
  OrderedJson json{
      {"model", run.model},
      {"mesh", run.mesh},
      {"batch", run.batch},
      {"zero", run.zero},
      {"topology", run.topology},
      {"collectives", collectives_json(run)},
      {"totals", totals_json(run)},
      {"buckets", buckets_json(run)},
      {"kept",
       {{"parameter_bytes", footprint.parameters},
        {"gradient_bytes", footprint.gradients},
        {"state_bytes", footprint.state},
        {"buffer_bytes", footprint.buffers}}},
      {"within_step", {{"activation_bytes", footprint.activations}, {"gathered_bytes", footprint.gathered}}},
      {"communication", to_json(run.price)}};
  if (run.other_order) {
    json["other_order"] = to_json(run.other_order->price);
    json["other_order"]["mesh"] = run.other_order->mesh;
    json["other_order"]["verdict"] = verdict(run);
  }
  json["graph"] = run.graph;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

}  // namespace hocket
