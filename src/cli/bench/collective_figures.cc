#include "cli/bench/collective_figures.h"

#include <nlohmann/json.hpp>

#include "collective/traffic.h"

namespace hocket {

std::string to_line(const CollectiveFigures& figures) {
  nlohmann::json json = {{"collective", figures.collective}, {"algorithm", figures.algorithm},
                         {"bytes", figures.bytes},           {"median_us", figures.us.median},
                         {"p10_us", figures.us.p10},         {"p90_us", figures.us.p90}};
  if (const auto& counts = figures.counts) {
    json["rounds"] = counts->rounds;
    json["fan_in"] = counts->fan_in;
    json["bytes_per_rank"] = counts->bytes_per_rank;
    json["total_bytes"] = counts->total_bytes;
  }
  return json.dump();
}

std::optional<CollectiveFigures> parse_figures(const std::string& line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    CollectiveFigures figures;
    figures.collective = json.value("collective", "all_reduce");
    figures.algorithm = json.at("algorithm").get<std::string>();
    figures.bytes = json.at("bytes").get<std::size_t>();
    figures.us = {json.at("median_us").get<double>(), json.at("p10_us").get<double>(),
                  json.at("p90_us").get<double>()};
    if (json.contains("rounds")) {
      figures.counts = {json.at("rounds").get<int>(), json.at("fan_in").get<int>(),
                        json.at("bytes_per_rank").get<std::int64_t>(),
                        json.at("total_bytes").get<std::int64_t>()};
    }
    return figures;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

CollectiveCounts schedule_counts(const Call& call) {
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(call.world));
  for (Rank rank = 0; rank < call.world; ++rank) schedules.push_back(schedule_of(call, rank));
  const auto traffic = traffic_of(schedules, 1);
  CollectiveCounts counts;
  counts.rounds = traffic.rounds;
  counts.fan_in = traffic.fan_in;
  return counts;
}

double bus_bandwidth(Collective collective, int ranks, std::size_t bytes, double us) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  double factor = 1;
  switch (collective) {
    case Collective::all_reduce: factor = 2 * share; break;
    case Collective::broadcast:
    case Collective::reduce: factor = ranks > 1 ? 1 : 0; break;
    case Collective::barrier: factor = 0; break;
    default: factor = share;
  }
  return us > 0 ? factor * static_cast<double>(bytes) / us * 1e-3 : 0;
}

}  // namespace hocket
