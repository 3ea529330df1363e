#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/statistics.h"
#include "cli/bench/timed_loop.h"
#include "cli/emulated_net.h"
#include "collective/choose.h"
#include "collective/collective.h"
#include "net/world.h"
#include "tensor/dtype.h"

namespace hocket {

// One measurement of a job of ranks.
struct CollectiveCase {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::automatic;
  std::size_t bytes = 0;  // Of the vector `data` of each rank, as collective.h means it.
};

// What a job of ranks measures, one case after the other.
struct CollectiveTask {
  TransportKind transport = TransportKind::shm;
  int ranks = 2;
  std::vector<CollectiveCase> cases;
  DType dtype = DType::f32;
  bool is_private = false;  // Buffers in private memory, where shared memory must be copied to and from.
  LoopBudget budget;
  bool explains = false;  // Chooses as a job does, by measured links and candidates, and says why.
  ReduceOrder order = ReduceOrder::any;
  std::shared_ptr<EmulatedNet> emulation{};  // The links of a modelled cluster, or none.
};

// What one operation moves, exactly.
struct CollectiveCounts {
  int rounds = 0;
  int fan_in = 0;                   // The most ranks that one receives from in a round.
  std::int64_t bytes_per_rank = 0;  // That the busiest rank sends.
  std::int64_t total_bytes = 0;     // That all ranks send together.
};

// What a case came to in one run.
struct CollectiveFigures {
  std::string collective;
  std::string algorithm;  // The one that ran; a peer's setting.
  std::size_t bytes = 0;
  Spread us;
  std::optional<CollectiveCounts> counts;  // Not of peers.
};

// A line of JSON, and back; nothing when `line` is no figures.
std::string to_line(const CollectiveFigures& figures);
std::optional<CollectiveFigures> parse_figures(const std::string& line);

// Rounds and fan-in of a call, over all its ranks, as its schedules say.
CollectiveCounts schedule_counts(const Call& call);

// The rate at which a link of each rank would carry the data that any algorithm must move, as NCCL's tests
// define it: comparable between collectives and worlds. In GB/s.
double bus_bandwidth(Collective collective, int ranks, std::size_t bytes, double us);

}  // namespace hocket
