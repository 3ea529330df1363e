#include "train/summary.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "train/file_system.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson or_null(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

void add_seconds(OrderedJson& json, const RankSeconds& seconds) {
  json["wall_seconds"] = seconds.wall_seconds;
  json["train_seconds"] = seconds.train_seconds;
  json["cpu_seconds"] = seconds.cpu_seconds;
  json["compute_seconds"] = seconds.compute_seconds;
  json["comm_seconds"] = seconds.comm_seconds;
  json["exposed_comm_seconds"] = seconds.exposed_comm_seconds;
  json["wait_seconds"] = seconds.wait_seconds;
}

void add_portions(OrderedJson& json, const PortionCounts& counts) {
  json["evaluations"] = counts.evaluations;
  json["tasks"] = counts.tasks;
  json["backup_portions"] = counts.backups;
  json["coordinator_bytes"] = counts.coordinator_bytes;
  json["coordinator_messages"] = counts.coordinator_messages;
}

void add_peers(OrderedJson& json, const PeerCounts& counts) {
  json["rounds"] = counts.rounds;
  if (!counts.steps.empty()) json["refusals"] = counts.refusals;
  if (!counts.steps.empty()) json["steps"] = counts.steps;
  json["bytes_sent"] = counts.bytes_sent;
  json["busiest_bytes_sent"] = counts.busiest_bytes_sent;
  if (counts.consensus_distance) json["consensus_distance"] = *counts.consensus_distance;
  if (counts.graph) {
    json["graph"] = {{"name", counts.graph->name},
                     {"directed", counts.graph->is_directed},
                     {"largest_degree", counts.graph->largest_degree},
                     {"second_eigenvalue", counts.graph->second_eigenvalue},
                     {"spectral_gap", 1 - counts.graph->second_eigenvalue}};
  }
  json["driver_bytes"] = counts.driver_bytes;
  json["data_bytes_read"] = counts.data_bytes_read;
  for (const PeerCounts::Period& period : counts.periods)
    json["periods"].push_back({{"step", period.step}, {"tau", period.tau}});
}

void add_conflicts(OrderedJson& json, const ConflictCounts& counts) {
  json["observed_updates"] = counts.observed_updates;
  json["observed_writes"] = counts.writes;
  json["conflicts"] = counts.conflicts;
  json["conflict_rate"] = counts.rate();
}

void add_way(OrderedJson& json, const Summary& summary) {
  json["status"] = summary.status;
  json["model"] = summary.model;
  json["data"] = summary.data;
  json["workers"] = summary.workers;
  json["servers"] = summary.servers;
  json["mesh"] = summary.mesh;
  json["sync"] = summary.sync;
  json["schedule"] = summary.schedule;
  json["micro_batches"] = summary.micro_batches;
  json["zero"] = summary.zero;
  json["compress"] = summary.compress;
  json["restarts"] = summary.restarts;
  json["algorithm"] = summary.algorithm;
  json["transport"] = summary.transport;
  json["dtype"] = summary.dtype;
  json["threads"] = summary.threads;
  json["seed"] = summary.seed;
  json["emulated"] = summary.emulated;
}

void add_outcome(OrderedJson& json, const Summary& summary) {
  json["parameters"] = summary.parameters;
  json["epochs"] = summary.epochs;
  json["steps"] = summary.steps;
  json["samples"] = summary.samples;
  add_seconds(json, summary.seconds);
  json["samples_per_second"] = summary.samples_per_second;
  json["test_accuracy"] = or_null(summary.test_accuracy);
  json["test_auc"] = or_null(summary.test_auc);
  json["test_loss"] = or_null(summary.test_loss);
  json["best_test_accuracy"] = or_null(summary.best_test_accuracy);
  json["target_accuracy"] = or_null(summary.target_accuracy);
  json["time_to_target"] = or_null(summary.time_to_target);
  json["bytes_sent"] = summary.bytes_sent;
  json["messages_sent"] = summary.messages_sent;
  json["exposed_comm_fraction"] = summary.exposed_comm_fraction;
  json["staleness"] = summary.staleness;
  json["bubble_fraction"] = or_null(summary.bubble_fraction);
  json["peak_rss_bytes"] = summary.peak_rss_bytes;
  json["parameter_hash"] = summary.parameter_hash;
  json["version"] = summary.version;
}

}  // namespace

std::string to_json(const Summary& summary) {
  OrderedJson json;
  add_way(json, summary);
  add_outcome(json, summary);
  json["ranks"] = OrderedJson::array();
  for (std::size_t rank = 0; rank < summary.ranks.size(); ++rank) {
    add_seconds(json["ranks"].emplace_back(OrderedJson{{"rank", rank}}), summary.ranks[rank]);
  }
  for (std::size_t rank = 0; rank < summary.activation_bytes.size() && rank < summary.ranks.size(); ++rank) {
    json["ranks"][rank]["activation_bytes"] = summary.activation_bytes[rank];
  }
  for (std::size_t rank = 0; rank < summary.gradients.size() && rank < summary.ranks.size(); ++rank) {
    const GradientCounts& counts = summary.gradients[rank];
    json["ranks"][rank]["gradients_applied"] = counts.applied;
    json["ranks"][rank]["gradients_dropped"] = counts.dropped;
    json["ranks"][rank]["staleness"] = counts.mean_staleness;
    json["ranks"][rank]["staleness_histogram"] = counts.staleness;
  }
  const auto all = std::accumulate(summary.shares.begin(), summary.shares.end(), 0.0);
  for (std::size_t rank = 0; rank < summary.shares.size() && rank < summary.ranks.size(); ++rank)
    json["ranks"][rank]["share"] = static_cast<double>(summary.shares[rank]) / all;
  if (summary.portions) add_portions(json["sandblaster"], *summary.portions);
  if (summary.peers) add_peers(json["peers"], *summary.peers);
  if (summary.conflicts) add_conflicts(json["hogwild"], *summary.conflicts);
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

void write_summary(const std::filesystem::path& path, const Summary& summary) {
  write_file_atomically(posix_file_system(), path, to_json(summary));
}

}  // namespace hocket
