#include "cli/doctor/job_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "base/quantity.h"
#include "cli/units.h"
#include "collective/group.h"
#include "collective/tuner.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

Finding look_at_ranks(const World& world) {
  std::set<std::string> hosts;
  for (const Member& member : world.job().members) hosts.insert(member.host_id);
  const bool encrypts = hosts.size() > 1 && !world.job().plaintext;
  return {"ranks", Verdict::good,
          fmt::format("{} on {} host{}, by {}, every connection with the job's key{}", world.job().size(),
                      hosts.size(), hosts.size() == 1 ? "" : "s", name_of(world.transport_kind()),
                      encrypts ? " and encrypted between hosts" : ""),
          OrderedJson{{"ranks", world.job().size()},
                      {"hosts", hosts.size()},
                      {"transport", name_of(world.transport_kind())},
                      {"encrypted", encrypts}}};
}

Finding look_at_crowding(Group& group, const World& world) {
  double crowding = static_cast<double>(world.ranks_on_this_host()) / usable_cores();
  group.all_reduce(std::span(&crowding, 1), Reduction::max);
  return {"threads", crowding > 1 ? Verdict::note : Verdict::good,
          crowding > 1 ? fmt::format("{:.3g} ranks a core on the fullest host: they take turns", crowding)
                       : "a core at least for every rank",
          OrderedJson{{"most_ranks_per_core", crowding}}};
}

// The slowest link in latency and in bandwidth, of all pairs.
Finding look_at_pairs(Group& group) {
  OrderedJson figures = OrderedJson::array();
  Seconds slowest(0);
  double narrowest = INFINITY;
  std::pair<Rank, Rank> slow_pair, narrow_pair;
  for (Rank a = 0; a < group.size(); ++a) {
    for (Rank b = a + 1; b < group.size(); ++b) {
      const Link link = measure_link(group, a, b).link;
      const double bandwidth = link.beta > 0 ? 1 / link.beta : INFINITY;
      if (link.alpha > slowest) slowest = link.alpha, slow_pair = {a, b};
      if (bandwidth < narrowest) narrowest = bandwidth, narrow_pair = {a, b};
      figures.push_back(
          {{"a", a}, {"b", b}, {"alpha_seconds", link.alpha.count()}, {"bytes_per_second", bandwidth}});
    }
  }
  return {"pairs", Verdict::good,
          fmt::format("all {} connect; slowest {} (ranks {} and {}), narrowest {}/s (ranks {} and {})",
                      figures.size(), seconds_text(slowest.count()), slow_pair.first, slow_pair.second,
                      bytes_text(narrowest), narrow_pair.first, narrow_pair.second),
          OrderedJson{{"links", std::move(figures)}}};
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// How far the clock of rank `other` is ahead of rank 0's: the best of a few questions and answers.
double clock_offset(Group& group, Rank other) {
  double best = 0;
  double shortest = INFINITY;
  for (int i = 0; i < 8; ++i) {
    group.barrier();
    const double before = wall_clock();
    double theirs = 0;
    if (group.rank() == other) theirs = wall_clock();
    group.broadcast(std::span(&theirs, 1), other);
    const double after = wall_clock();
    if (after - before < shortest) shortest = after - before, best = theirs - (before + after) / 2;
  }
  return best;
}

Finding look_at_clocks(Group& group) {
  constexpr double kMost = 0.1;
  double worst = 0;
  Rank worst_rank = 0;
  for (Rank other = 1; other < group.size(); ++other) {
    double offset = clock_offset(group, other);
    group.broadcast(std::span(&offset, 1), 0);
    if (std::abs(offset) > std::abs(worst)) worst = offset, worst_rank = other;
  }
  return {"clocks", std::abs(worst) > kMost ? Verdict::note : Verdict::good,
          fmt::format("at most {} apart (rank {})", seconds_text(std::abs(worst)), worst_rank),
          OrderedJson{{"worst_offset_seconds", worst}, {"rank", worst_rank}}};
}

}  // namespace

std::vector<Finding> look_at_job(World& world) {
  Group group(world.open());
  std::vector<Finding> findings{look_at_ranks(world)};
  if (group.size() == 1) return findings;
  findings.push_back(look_at_crowding(group, world));
  findings.push_back(look_at_pairs(group));
  findings.push_back(look_at_clocks(group));
  return findings;
}

}  // namespace hocket
