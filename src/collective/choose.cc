#include "collective/choose.h"

#include <algorithm>

#include "base/error.h"
#include "base/quantity.h"
#include "collective/cost.h"
#include "collective/simulate.h"

namespace hocket {
namespace {

// Worlds in which ranks have more rounds and messages than this, all together, are priced and not replayed.
constexpr double kMaxReplayed = 5e6;

// Two terms have the same sum in either order.
bool keeps_order(Algorithm algorithm, int world) { return world <= 2 || keeps_rank_order(algorithm); }

// What a rank does, counted.
struct Share {
  int rounds = 0;  // With messages.
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  // Sent.
};

Share count(const Schedule& schedule, std::size_t element_bytes) {
  Share share;
  Round round;
  for (int i = 0; i < schedule.rounds(); ++i) {
    schedule.round(i, round);
    const std::uint64_t before = share.messages;
    for (const Action& action : round) {
      share.messages += action.is_message() ? 1 : 0;
      if (action.is_send()) share.bytes += action.range.size * element_bytes;
    }
    share.rounds += share.messages > before ? 1 : 0;
  }
  return share;
}

// A few ranks that stand for all: the first ones, which are roots, one in the middle, the last.
std::vector<Rank> samples(int world) {
  std::vector<Rank> ranks{0, 1, world / 2, world - 1};
  std::erase_if(ranks, [&](Rank rank) { return rank >= world; });
  return ranks;
}

Candidate predict(const Demand& demand, Algorithm algorithm, const Topology& topology) {
  const Call call = call_of(demand, algorithm, topology);
  Candidate candidate{algorithm};
  candidate.keeps_rank_order = keeps_order(algorithm, topology.world());
  double work = 0;
  for (const Rank rank : samples(call.world)) {
    const Schedule schedule = schedule_of(call, rank);
    const Share share = count(schedule, demand.element_bytes);
    work = std::max(work, static_cast<double>(share.messages) + share.rounds);
    candidate.rounds = std::max(candidate.rounds, share.rounds);
    candidate.bytes_per_rank = std::max(candidate.bytes_per_rank, share.bytes);
    candidate.predicted =
        std::max(candidate.predicted, price(schedule, rank, topology, demand.element_bytes));
  }
  candidate.is_replayed = work * call.world <= kMaxReplayed;
  if (candidate.is_replayed) {
    const Simulation simulation =
        simulate([&](Rank rank) { return schedule_of(call, rank); }, topology, demand.element_bytes);
    candidate.predicted = simulation.time();
    candidate.bytes_per_rank = simulation.most_bytes;
  }
  return candidate;
}

void sort_by_time(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.time() < b.time(); });
}

std::string verdict(const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return "no algorithm can do this";
  const Candidate& best = candidates.front();
  std::string text = fmt::format("{}: {} {}", name_of(best.algorithm),
                                 best.measured ? "measured" : "predicted", seconds_text(best.time().count()));
  if (candidates.size() == 1) return text + ", the only one allowed";
  const Candidate& next = candidates[1];
  const double ratio = next.time() / best.time();
  if (!(ratio >= 1.005)) return text + fmt::format(", and {} does as well", name_of(next.algorithm));
  return text + fmt::format(", {:.2f} times as fast as the next, {}", ratio, name_of(next.algorithm));
}

}  // namespace

std::string_view name_of(ReduceOrder order) { return order == ReduceOrder::rank ? "rank" : "any"; }

Call call_of(const Demand& demand, Algorithm algorithm, const Topology& topology) {
  Call call;
  call.collective = demand.collective;
  call.algorithm = algorithm;
  call.world = topology.world();
  call.count = demand.count;
  if (algorithm == Algorithm::hierarchical) call.group_of = topology.groups();
  return call;
}

bool is_allowed(const Demand& demand, Algorithm algorithm, const Topology& topology) {
  if (algorithm == Algorithm::automatic) return false;
  if (algorithm == Algorithm::direct && !demand.shares_memory) return false;
  if (demand.order == ReduceOrder::rank && reduces(demand.collective) &&
      !keeps_order(algorithm, topology.world())) {
    return false;
  }
  const Call call = call_of(demand, algorithm, topology);
  const bool has_groups =
      algorithm != Algorithm::hierarchical || call.group_of != std::vector<Rank>(call.group_of.size(), 0);
  return has_groups && supports(call);
}

std::vector<Candidate> candidates(const Demand& demand, const Topology& topology) {
  std::vector<Candidate> result;
  for (const Algorithm algorithm : all_algorithms()) {
    if (is_allowed(demand, algorithm, topology)) result.push_back(predict(demand, algorithm, topology));
  }
  sort_by_time(result);
  return result;
}

std::string explain(const Demand& demand, const Topology& topology,
                    const std::vector<Candidate>& candidates) {
  std::string text = fmt::format("{} of {} among {} ranks, reduce order {}\n", name_of(demand.collective),
                                 size_text(static_cast<double>(demand.count * demand.element_bytes)),
                                 topology.world(), name_of(demand.order));
  text += fmt::format("{:<20}{:>8}{:>16}{:>14}{:>14}  {}\n", "algorithm", "rounds", "bytes per rank",
                      "predicted", "measured", "sums in rank order");
  for (const Candidate& candidate : candidates) {
    text += fmt::format("{:<20}{:>8}{:>16}{:>14}{:>14}  {}\n", name_of(candidate.algorithm), candidate.rounds,
                        candidate.bytes_per_rank, seconds_text(candidate.predicted.count()),
                        candidate.measured ? seconds_text(candidate.measured->count()) : "-",
                        candidate.keeps_rank_order ? "yes" : "no");
  }
  return text + verdict(candidates) + '\n';
}

ChoiceTable choose_all(Demand demand, const Topology& topology, const Measure& measure) {
  constexpr std::uint64_t kSmallest = 1 << 10;
  constexpr std::uint64_t kLargest = 1 << 30;
  constexpr std::size_t kMeasured = 3;
  ChoiceTable table(topology.world(), demand.order);
  for (const Collective collective : all_collectives()) {
    demand.collective = collective;
    const bool has_sizes = collective != Collective::barrier;
    for (std::uint64_t bytes = has_sizes ? kSmallest : kLargest; bytes <= kLargest; bytes *= 4) {
      demand.count = has_sizes ? bytes / demand.element_bytes : 0;
      std::vector<Candidate> ways = candidates(demand, topology);
      if (ways.empty()) continue;
      if (measure) {
        ways.resize(std::min(ways.size(), kMeasured));
        for (Candidate& way : ways) way.measured = measure(demand, way.algorithm);
        sort_by_time(ways);
      }
      table.add({collective, bytes == kLargest ? ChoiceTable::kUnbounded : bytes, ways.front().algorithm});
    }
  }
  return table;
}

}  // namespace hocket
