#include "runtime/mesh_prices.h"

#include <algorithm>

#include "base/error.h"
#include "collective/simulate.h"

namespace hocket {
namespace {

constexpr int kMostPricedRanks = 1024;
constexpr std::size_t kElementBytes = 4;

}  // namespace

MeshPrices::MeshPrices(Mesh mesh, Topology topology)
    : mesh_(std::move(mesh)), topology_(std::move(topology)) {
  HOCKET_CHECK(topology_.world() == mesh_.size(), "a topology of {} ranks for a mesh of {}",
               topology_.world(), mesh_.size());
  if (mesh_.size() > kMostPricedRanks) {
    throw ConfigError("mesh {}: prices are for meshes of up to {} ranks, not {}", mesh_.text(),
                      kMostPricedRanks, mesh_.size());
  }
}

const MeshPrice& MeshPrices::price(Collective collective, std::size_t bytes, std::string_view axis) {
  const auto [known, is_new] = known_.try_emplace({collective, bytes, std::string(axis)});
  if (is_new) known->second = replay(collective, bytes, axis);
  return known->second;
}

MeshPrice MeshPrices::replay(Collective collective, std::size_t bytes, std::string_view axis) const {
  const std::vector<Rank> first = mesh_.members(0, axis);
  const Topology group = topology_.among(first);
  Demand demand{collective, (bytes + kElementBytes - 1) / kElementBytes, kElementBytes};
  demand.shares_memory = group.count(Level::host) == 1;
  const std::vector<Candidate> ways = candidates(demand, group);
  HOCKET_CHECK(!ways.empty(), "no algorithm for {}", name_of(collective));

  const Call call = call_of(demand, ways.front().algorithm, group);
  const auto schedule = [&](Rank rank) {
    const std::vector<Rank> members = mesh_.members(rank, axis);
    const auto own = static_cast<Rank>(std::find(members.begin(), members.end(), rank) - members.begin());
    return in_group(schedule_of(call, own), members);
  };
  const Simulation simulation = simulate(schedule, topology_, kElementBytes);
  return {call.algorithm, simulation.time().count(), simulation.bytes};
}

}  // namespace hocket
