#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "train/node_place.h"
#include "train/options.h"

namespace hocket {

// A server, or the coordinator, of a run with a parameter server (TrainOptions with servers filled in), until
// `stop` becomes true. Throws NetError when it cannot listen.
void run_server(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop);
void run_coordinator(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop);

// Where the coordinator of a run keeps what it has decided, for when it dies.
std::filesystem::path coordinator_file(const std::string& run_folder);

}  // namespace hocket
