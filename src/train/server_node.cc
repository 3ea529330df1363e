#include "train/server_node.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "net/log.h"
#include "ps/node_network.h"
#include "ps/server.h"
#include "ps/server_coordinator.h"
#include "sync/discipline.h"
#include "train/file_system.h"
#include "train/model_ranges.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kStopLook{0.1};  // For `stop`.

// In the run folder; in memory alone where there is none.
class CoordinatorFile final : public CoordinatorDisk {
 public:
  explicit CoordinatorFile(const std::string& folder)
      : path_(folder.empty() ? fs::path() : coordinator_file(folder)) {}

  void save(std::span<const std::byte> bytes) override {
    if (path_.empty()) return;
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    write_file_atomically(posix_file_system(), path_, std::string(text, bytes.size()));
  }

  std::vector<std::byte> load() override {
    std::ifstream stream(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }

 private:
  fs::path path_;
};

// Runs a state machine on its network.
template <typename Machine>
void run_machine(Machine& machine, NodeNetwork& network, const std::atomic<bool>& stop) {
  const auto deliver = [&](const NodeId& from, const Message& message) {
    machine.on_message(from, message, Clock::now());
  };
  while (!stop.load()) {
    network.poll(std::min(machine.next_deadline(), after(kStopLook)), deliver);
    machine.on_time(Clock::now());
  }
}

}  // namespace

fs::path coordinator_file(const std::string& run_folder) { return fs::path(run_folder) / "coordinator"; }

void run_server(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop) {
  NodeNetwork network(network_at(place), log_to_stderr());
  ReplicaOptions replicas;
  replicas.workers = options.workers;
  replicas.make_consistency = make_consistency(Discipline::parse(options.sync), options.workers);
  replicas.make_store = make_store;
  Server server(place.me.index, replicas, network, timing_at(place));
  run_machine(server, network, stop);
}

void run_coordinator(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop) {
  NodeNetwork network(network_at(place), log_to_stderr());
  CoordinatorFile disk(options.out);
  ServerCoordinatorOptions coordinating;
  coordinating.servers = options.servers;
  coordinating.workers = options.workers;
  coordinating.replicas = options.replicas;
  coordinating.ranges = range_count(options.servers);
  ServerCoordinator coordinator(coordinating, disk, network, Clock::now());
  run_machine(coordinator, network, stop);
}

}  // namespace hocket
