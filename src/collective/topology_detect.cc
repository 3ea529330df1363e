// The kernel says of each processor which package (socket) it is on.
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "base/error.h"
#include "collective/topology.h"

namespace hocket {
namespace {

// Shared memory on a common server: a cache line handed over inside a socket, and one between sockets.
constexpr Edge kDevice{Seconds(0.3e-6), 1.0 / 10e9, 0};
constexpr Edge kSocket{Seconds(0.2e-6), 1.0 / 20e9, 0};

int package_of(int processor) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", processor));
  int package = 0;
  return file >> package ? package : 0;
}

// The usable processors on each socket that has some.
std::vector<int> processors_by_socket() {
  std::map<int, int> sockets;
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &usable)) ++sockets[package_of(processor)];
    }
  }
  std::vector<int> counts;
  counts.reserve(sockets.size());
  for (const auto& entry : sockets) counts.push_back(entry.second);
  return counts.empty() ? std::vector<int>{1} : counts;
}

}  // namespace

Topology detect_topology(int world) {
  const std::vector<int> processors = processors_by_socket();
  int all = 0;
  for (const int count : processors) all += count;
  TopologyNode host{Edge{}};
  int placed = 0;
  int passed = 0;
  for (const int count : processors) {
    passed += count;
    const auto until = static_cast<int>(static_cast<std::int64_t>(world) * passed / all);
    if (until > placed) {
      const auto devices = static_cast<std::size_t>(until - placed);
      host.children.push_back({processors.size() > 1 ? kSocket : Edge{}, {devices, TopologyNode{kDevice}}});
    }
    placed = until;
  }
  return Topology({TopologyNode{Edge{}, {host}}});
}

}  // namespace hocket
