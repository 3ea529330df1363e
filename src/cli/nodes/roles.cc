#include "cli/nodes/roles.h"

#include <algorithm>

#include "base/error.h"
#include "graph/mesh.h"
#include "net/job_key.h"
#include "sync/discipline.h"

namespace hocket {

bool has_servers(const TrainOptions& options) { return Discipline::parse(options.sync).has_servers(); }

bool is_sandblaster(const TrainOptions& options) {
  return Discipline::parse(options.sync).kind == DisciplineKind::sandblaster;
}

int node_count(const TrainOptions& options) { return 2 + options.servers + options.workers; }

NodeId node_of(Rank rank, const TrainOptions& options) {
  if (rank == 0) return kRecorder;
  if (rank == 1) return kCoordinator;
  const int server = rank - 2;
  return server < options.servers ? server_node(server) : worker_node(server - options.servers);
}

bool is_node(const Variables& variables) { return variables(kNodesVariable).has_value(); }

std::unique_ptr<EmulatedNet> links_between_nodes(const TrainOptions& options) {
  if (options.emulate_net.empty()) return nullptr;
  return std::make_unique<EmulatedNet>(options.emulate_net, options.workers + options.servers,
                                       links_file(options.out));
}

std::filesystem::path links_file(const std::string& run_folder) {
  return std::filesystem::path(run_folder) / "links";
}

NodePlace place_of_node(const Environment& environment, const TrainOptions& options) {
  if (!environment.key_fd || environment.world_size != node_count(options)) {
    throw ConfigError("{} is set, but not by hocket train", kNodesVariable);
  }
  return {node_of(environment.rank, options),
          key_from_descriptor(*environment.key_fd),
          {environment.coordinator_host, environment.coordinator_port},
          environment.plaintext,
          nullptr,
          options.workers};
}

TrainOptions with_servers(TrainOptions options) {
  const Discipline discipline = Discipline::parse(options.sync);
  const Mesh mesh = Mesh::parse(options.mesh, options.workers);
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given) throw ConfigError("{} does not go with --sync {}", what, options.sync);
  };
  refuse(mesh.size_of("pp") > 1 || !options.schedule.empty(), "a pipeline");
  refuse(options.zero > 0, "--zero");
  refuse(options.compress != "none", "--compress");
  refuse(options.factors, "--factors");
  refuse(options.optimizer.clip > 0, "--clip, the norm of a gradient that no node has whole,");
  refuse(options.folds > 0, "--folds");
  refuse(options.balance, "--balance");
  refuse(options.sync_batch_norm, "--sync-batch-norm");
  if (is_sandblaster(options)) {
    refuse(options.replicas > 1, "--replicas");
    refuse(mesh.size_of("tp") > 1, "--mesh with tp");
    refuse(!options.optimizer.rule.empty(), "--optimizer, as it is L-BFGS,");
    refuse(options.learning_rate > 0, "--lr, as L-BFGS finds its own steps,");
  }
  options.workers = mesh.size_of("dp");
  options.mesh = mesh.text();
  options.servers = std::max(1, options.servers);
  options.replicas = std::max(1, options.replicas);
  if (options.replicas > options.servers) {
    throw ConfigError("--replicas {}: each range needs that many servers, and --servers is {}",
                      options.replicas, options.servers);
  }
  discipline.require_fit(options.workers);
  return options;
}

}  // namespace hocket
