// Owners get equal shares: job by job, the turn is with the owner that has been given the fewest slots so far
// (progressive filling, so max-min fair). An owner's running jobs come before its waiting ones, so that no
// job is stopped for another of the same owner; whoever is overdue goes before all.

#include <functional>
#include <map>
#include <queue>
#include <tuple>

#include "jobs/policy.h"
#include "jobs/take_turns.h"

namespace hocket {
namespace {

struct Owner {
  JobOrder jobs;
  std::size_t next = 0;
  int given = 0;
};

JobOrder fair_order(const ClusterState& state, const PolicyOptions& options) {
  JobOrder order;
  std::map<std::string_view, Owner> owners;
  for (const std::size_t index : state.running) owners[state.jobs[index].owner].jobs.push_back(index);
  for (const std::size_t index : state.waiting) {
    if (is_overdue(state, state.jobs[index], options)) {
      order.push_back(index);
      owners[state.jobs[index].owner].given += state.jobs[index].min_workers;
    } else {
      owners[state.jobs[index].owner].jobs.push_back(index);
    }
  }
  // Slots given, when its next job came, owner.
  using Turn = std::tuple<int, double, Owner*>;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  const auto line_up = [&](Owner& owner) {
    if (owner.next == owner.jobs.size()) return;
    turns.emplace(owner.given, arrival(state.jobs[owner.jobs[owner.next]], options), &owner);
  };
  for (auto& [name, owner] : owners) line_up(owner);
  const std::size_t length = useful_length(state, options);
  while (!turns.empty() && order.size() < length) {
    Owner& owner = *std::get<2>(turns.top());
    turns.pop();
    const ClusterJob& job = state.jobs[owner.jobs[owner.next]];
    order.push_back(owner.jobs[owner.next++]);
    owner.given += job.allocation.empty() ? job.min_workers : job.workers();
    line_up(owner);
  }
  return order;
}

}  // namespace

Decisions decide_fair(const ClusterState& state, const PolicyOptions& options) {
  return decide_turns(state, options, [&] { return fair_order(state, options); });
}

}  // namespace hocket
