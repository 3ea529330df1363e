#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/bench/collective_figures.h"

namespace hocket {

struct CollectiveBenchOptions {
  std::vector<Collective> collectives = {Collective::all_reduce};
  std::vector<Algorithm> algorithms = {Algorithm::automatic};
  std::vector<TransportKind> transports = {TransportKind::shm, TransportKind::tcp};
  std::vector<int> ranks = {2, 4, 8};
  std::vector<std::size_t> bytes = {4, 1 << 10, 1 << 16, 1 << 20, 1 << 24};
  DType dtype = DType::f32;
  bool is_private = false;
  bool explains = false;
  std::string emulated_net{};  // A topology whose links are emulated; empty: the machine's own.
  ReduceOrder order = ReduceOrder::any;
  double seconds = 1;  // Of measuring, for each row.
  int rounds = 5;
  bool peers = false;
  std::filesystem::path peer_programs;  // The folder that has them.
};

// What one peer reached with one collective, world and size: a row of `hocket bench collectives`.
struct CollectiveRow {
  std::string peer;
  std::string collective;
  std::string algorithm;
  std::string transport;
  int ranks = 0;
  std::size_t bytes = 0;
  Spread us;  // Medians over the rounds.
  std::optional<CollectiveCounts> counts;
  std::vector<double> samples;           // The median of each round, in microseconds.
  std::optional<double> predicted_us{};  // On emulated links, by simulation.
};

using CollectiveRemark = std::function<void(const std::string&)>;

// What a job of ranks over one transport has to measure: every algorithm and size of every collective.
CollectiveTask collective_task(const CollectiveBenchOptions& options, TransportKind transport, int ranks);

// Measures one world. We and the peers take turns, a run of all sizes at a time; of a peer's settings those
// that are the best at some size in the first round stay, and a row shows the best one at its size. `say`
// receives remarks, such as a peer that is missing.
std::vector<CollectiveRow> measure_collectives(const CollectiveBenchOptions& options, int ranks,
                                               const CollectiveRemark& say);

// How many times as long the peer takes, round by round.
Spread paired_ratio(const CollectiveRow& ours, const CollectiveRow& theirs);

// The row of `peer` that `ours` is to be compared with; nullptr when there is none.
const CollectiveRow* row_beside(std::span<const CollectiveRow> rows, const CollectiveRow& ours,
                                std::string_view peer);

}  // namespace hocket
