#include "cli/bench/collective_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "cli/bench/collective_goals.h"

namespace hocket {
namespace {

double bandwidth_of(const CollectiveRow& row) {
  return bus_bandwidth(find_collective(row.collective).value_or(Collective::all_reduce), row.ranks, row.bytes,
                       row.us.median);
}

std::string time_text(double us) {
  if (us < 10) return fmt::format("{:.2f} us", us);
  if (us < 1000) return fmt::format("{:.1f} us", us);
  return fmt::format("{:.2f} ms", us * 1e-3);
}

std::string spread_text(const Spread& us) {
  return fmt::format("{} ({} - {})", time_text(us.median), time_text(us.p10), time_text(us.p90));
}

std::string ratio_text(const Spread& ratio) {
  return fmt::format("{:.2f} ({:.2f} - {:.2f})", ratio.median, ratio.p10, ratio.p90);
}

std::string peer_line(const CollectiveRow& ours, const CollectiveRow& theirs) {
  return fmt::format("      {:<12}{:<34}{:<34}takes {} times as long\n", theirs.peer, theirs.algorithm,
                     spread_text(theirs.us), ratio_text(paired_ratio(ours, theirs)));
}

std::string row_line(const CollectiveRow& row) {
  const CollectiveCounts counts = row.counts.value_or(CollectiveCounts{});
  return fmt::format("{:<15}{:<10}{:<6}{:<9}{:<20}{:<34}{:>8.2f}{:>8}{:>8}{:>14}\n", row.collective,
                     row.transport, row.ranks, size_text(row.bytes), row.algorithm, spread_text(row.us),
                     bandwidth_of(row), counts.rounds, counts.fan_in, counts.bytes_per_rank);
}

std::string goal_line(const GoalResult& result) {
  const CollectiveGoal& goal = result.goal;
  return fmt::format(
      "  {:<5} {:<6} {} ranks, {} to {}: {} takes at least {:.2f} times as long: {} at {}, {} ranks\n",
      result.holds() ? "holds" : "FAILS", goal.transport, fmt::join(goal.ranks, " or "),
      size_text(goal.least_bytes), size_text(goal.most_bytes), goal.peer, goal.ratio,
      ratio_text(result.ratio), size_text(result.worst->bytes), result.worst->ranks);
}

}  // namespace

std::string size_text(std::size_t bytes) {
  if (bytes >= (1 << 20) && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= (1 << 10) && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

std::string rows_as_json(std::span<const CollectiveRow> rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const CollectiveRow& row : rows) {
    nlohmann::ordered_json each = {
        {"collective", row.collective}, {"algorithm", row.algorithm}, {"transport", row.transport},
        {"ranks", row.ranks},           {"bytes", row.bytes},         {"median_us", row.us.median},
        {"p10_us", row.us.p10},         {"p90_us", row.us.p90},       {"bus_bandwidth", bandwidth_of(row)}};
    for (const char* key : {"rounds", "fan_in", "bytes_per_rank", "total_bytes"}) each[key] = nullptr;
    if (const auto& counts = row.counts) {
      each["rounds"] = counts->rounds;
      each["fan_in"] = counts->fan_in;
      each["bytes_per_rank"] = counts->bytes_per_rank;
      each["total_bytes"] = counts->total_bytes;
    }
    each["peer"] = row.peer;
    if (row.predicted_us) {
      each["emulated"] = true;
      each["predicted_us"] = *row.predicted_us;
    }
    json.push_back(std::move(each));
  }
  return json.dump(2) + '\n';
}

std::string rows_as_table(std::span<const CollectiveRow> rows) {
  std::string text = fmt::format("{:<15}{:<10}{:<6}{:<9}{:<20}{:<34}{:>8}{:>8}{:>8}{:>14}\n", "collective",
                                 "transport", "ranks", "bytes", "algorithm", "median (p10 - p90)", "GB/s",
                                 "rounds", "fan-in", "bytes a rank");
  for (const CollectiveRow& row : rows) {
    if (row.peer != "hocket") continue;
    text += row_line(row);
    if (row.predicted_us) {
      text += fmt::format("{:>40}emulated links; the simulator predicts {}, measured is {:.2f} times that\n",
                          "", seconds_text(*row.predicted_us * 1e-6), row.us.median / *row.predicted_us);
    }
    for (const char* peer : {"gloo", row.transport == "tcp" ? "openmpi-tcp" : "openmpi"}) {
      if (const CollectiveRow* theirs = row_beside(rows, row, peer)) text += peer_line(row, *theirs);
    }
  }
  const std::vector<GoalResult> goals = judge(rows);
  if (!goals.empty()) text += "\ngoals, each at the size that comes off worst:\n";
  for (const GoalResult& goal : goals) text += goal_line(goal);
  return text;
}

}  // namespace hocket
