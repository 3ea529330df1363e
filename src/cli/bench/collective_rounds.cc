#include "cli/bench/collective_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "cli/bench/collective_meter.h"
#include "cli/bench/collective_peers.h"
#include "cli/bench/collective_ranks.h"
#include "cli/bench/peer_process.h"
#include "collective/choose.h"
#include "collective/simulate.h"

namespace hocket {
namespace {

// One of those who take turns.
struct Contestant {
  std::string peer;
  std::string transport;
  std::function<std::vector<CollectiveFigures>()> run;
  std::vector<std::vector<CollectiveFigures>> rounds;  // The same cases in each.
};

std::vector<Contestant> contestants_of(const CollectiveBenchOptions& options, int ranks,
                                       const CollectiveRemark& say) {
  std::vector<Contestant> all;
  for (const TransportKind transport : options.transports) {
    const CollectiveTask task = collective_task(options, transport, ranks);
    if (task.cases.empty()) continue;
    all.push_back(
        {"hocket", std::string(name_of(transport)), [task] { return run_collective_task(task); }, {}});
  }
  if (!options.peers || ranks < 2) return all;
  std::vector<std::string> missing;
  const int cores = static_cast<int>(usable_processors().size());
  const double seconds = options.seconds / options.rounds;
  for (const CollectivePeer& peer : collective_peers(options.peer_programs, ranks, cores, missing)) {
    const auto run = [peer, bytes = options.bytes, seconds] {
      return run_collective_peer(peer, bytes, seconds);
    };
    all.push_back({peer.name, peer.transport, run, {}});
  }
  for (const std::string& line : missing) say(line);
  return all;
}

// Best time of `peer` at each size of its first round.
double best_first(std::span<const Contestant> all, const std::string& peer, std::size_t bytes) {
  double best = std::numeric_limits<double>::infinity();
  for (const Contestant& contestant : all) {
    if (contestant.peer != peer) continue;
    for (const CollectiveFigures& figures : contestant.rounds.front()) {
      if (figures.bytes == bytes) best = std::min(best, figures.us.median);
    }
  }
  return best;
}

// Keeps of each peer's settings those that come near the best at some size.
void keep_the_best(std::vector<Contestant>& all) {
  constexpr double kNear = 1.1;
  std::vector<Contestant> kept;
  for (const Contestant& contestant : all) {
    const auto& first = contestant.rounds.front();
    const bool is_good = std::any_of(first.begin(), first.end(), [&](const CollectiveFigures& figures) {
      return figures.us.median <= kNear * best_first(all, contestant.peer, figures.bytes);
    });
    if (contestant.peer == "hocket" || is_good) kept.push_back(contestant);
  }
  all = std::move(kept);
}

// A turn of everyone, in changing order. A peer that fails is left out from then on.
void run_round(std::vector<Contestant>& all, int round, const CollectiveRemark& say) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Contestant& contestant = all[round % 2 == 0 ? i : all.size() - 1 - i];
    try {
      contestant.rounds.push_back(contestant.run());
    } catch (const Error& error) {
      if (contestant.peer == "hocket") throw;
      say(fmt::format("left out: {}", error.what()));
    }
  }
  std::erase_if(
      all, [&](const Contestant& each) { return each.rounds.size() != static_cast<std::size_t>(round) + 1; });
}

// Case `index` of a contestant over all rounds.
CollectiveRow row_of(const Contestant& contestant, int ranks, std::size_t index) {
  const CollectiveFigures& first = contestant.rounds.front()[index];
  CollectiveRow row{contestant.peer,
                    first.collective,
                    first.algorithm,
                    contestant.transport,
                    ranks,
                    first.bytes,
                    {},
                    first.counts,
                    {}};
  std::vector<double> low;
  std::vector<double> high;
  for (const auto& round : contestant.rounds) {
    if (index >= round.size()) continue;
    row.samples.push_back(round[index].us.median);
    low.push_back(round[index].us.p10);
    high.push_back(round[index].us.p90);
  }
  row.us = {spread_of(row.samples).median, spread_of(low).median, spread_of(high).median};
  return row;
}

// Of a peer's rows for one size the fastest stays.
void add_row(std::vector<CollectiveRow>& rows, CollectiveRow row) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const CollectiveRow& each) {
    return each.peer == row.peer && each.bytes == row.bytes && row.peer != "hocket";
  });
  if (same == rows.end()) {
    rows.push_back(std::move(row));
  } else if (row.us.median < same->us.median) {
    *same = std::move(row);
  }
}

// What the simulator says of the same operation on the links that were emulated.
double predicted_us(const CollectiveRow& row, const CollectiveBenchOptions& options) {
  const Topology topology = open_topology(options.emulated_net, row.ranks);
  const std::size_t element_bytes = size_of(options.dtype);
  const Demand demand{*find_collective(row.collective), row.bytes / element_bytes, element_bytes};
  const Call call = call_of(demand, *find_algorithm(row.algorithm), topology);
  const auto of_rank = [&](Rank rank) { return schedule_of(call, rank); };
  return simulate(of_rank, topology, element_bytes).time().count() * 1e6;
}

}  // namespace

CollectiveTask collective_task(const CollectiveBenchOptions& options, TransportKind transport, int ranks) {
  CollectiveTask task;
  task.transport = transport;
  task.ranks = ranks;
  task.dtype = options.dtype;
  task.is_private = options.is_private;
  task.explains = options.explains;
  task.order = options.order;
  if (!options.emulated_net.empty())
    task.emulation = std::make_shared<EmulatedNet>(options.emulated_net, ranks);
  task.budget.seconds = options.seconds / options.rounds;
  for (const Collective collective : options.collectives) {
    for (const Algorithm algorithm : options.algorithms) {
      for (const std::size_t bytes : options.bytes) {
        const CollectiveCase each{collective, algorithm, bytes};
        if (can_run(task, each)) task.cases.push_back(each);
      }
    }
  }
  return task;
}

std::vector<CollectiveRow> measure_collectives(const CollectiveBenchOptions& options, int ranks,
                                               const CollectiveRemark& say) {
  std::vector<Contestant> all = contestants_of(options, ranks, say);
  for (int round = 0; round < options.rounds; ++round) {
    run_round(all, round, say);
    if (round == 0) keep_the_best(all);
    say(fmt::format("round {} of {}", round + 1, options.rounds));
  }
  std::vector<CollectiveRow> rows;
  for (const Contestant& contestant : all) {
    for (std::size_t i = 0; i < contestant.rounds.front().size(); ++i)
      add_row(rows, row_of(contestant, ranks, i));
  }
  for (CollectiveRow& row : rows) {
    if (!options.emulated_net.empty()) row.predicted_us = predicted_us(row, options);
  }
  return rows;
}

Spread paired_ratio(const CollectiveRow& ours, const CollectiveRow& theirs) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ours.samples.size(), theirs.samples.size()); ++i) {
    ratios.push_back(theirs.samples[i] / ours.samples[i]);
  }
  return spread_of(std::move(ratios));
}

const CollectiveRow* row_beside(std::span<const CollectiveRow> rows, const CollectiveRow& ours,
                                std::string_view peer) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const CollectiveRow& row) {
    return row.peer == peer && row.collective == ours.collective && row.ranks == ours.ranks &&
           row.bytes == ours.bytes;
  });
  return at == rows.end() ? nullptr : &*at;
}

}  // namespace hocket
