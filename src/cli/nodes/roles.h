#pragma once

#include <filesystem>
#include <memory>

#include "cli/emulated_net.h"
#include "net/environment.h"
#include "net/rank.h"
#include "train/node_place.h"
#include "train/options.h"

namespace hocket {

// The processes of a run with a parameter server, as they are numbered: the recorder, the coordinator, the
// servers, the workers.
int node_count(const TrainOptions& options);
NodeId node_of(Rank rank, const TrainOptions& options);

// In whose environment kNodesVariable is set, is such a process.
inline constexpr const char* kNodesVariable = "HOCKET_NODES";
bool is_node(const Variables& variables);
// Throws ConfigError when the environment is not that of launch_nodes().
NodePlace place_of_node(const Environment& environment, const TrainOptions& options);

// Emulated between workers and servers, whose ranks come after, by a file in the run's folder; null where
// links are as they are.
std::unique_ptr<EmulatedNet> links_between_nodes(const TrainOptions& options);
std::filesystem::path links_file(const std::string& run_folder);

// `options` of a run with servers with what was left open: as many workers as replicas, however many ranks
// share each. Throws ConfigError for what does not go together.
TrainOptions with_servers(TrainOptions options);
bool has_servers(const TrainOptions& options);
bool is_sandblaster(const TrainOptions& options);

}  // namespace hocket
