#include "collective/tuner.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"

namespace hocket {

namespace {

constexpr std::size_t kProbeBytes[] = {64, 4096, 65536, std::size_t{1} << 20};
constexpr int kProbes = 5;            // Of each size; the median counts.
constexpr std::size_t kMeasured = 3;  // Of the best predictions.

// Half the time of a message to `peer` and back.
Seconds round_trip(Transport& transport, Rank peer, bool begins, std::span<std::byte> bytes) {
  const Label label{{0x70726f6265, bytes.size()}};
  const TimePoint start = Clock::now();
  const auto send = [&] { transport.wait(transport.send(peer, label, bytes)); };
  const auto recv = [&] { transport.wait(transport.recv(peer, label, bytes)); };
  if (begins) {
    send();
    recv();
  } else {
    recv();
    send();
  }
  return Seconds(Clock::now() - start) / 2;
}

Seconds median(std::vector<Seconds> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2),
                   samples.end());
  return samples[samples.size() / 2];
}

// The first two ranks for which `wanted` holds, or {0, 0}.
template <typename Wanted>
std::pair<Rank, Rank> first_pair(int world, const Wanted& wanted) {
  for (Rank a = 0; a < world; ++a) {
    for (Rank b = a + 1; b < world; ++b) {
      if (wanted(a, b)) return {a, b};
    }
  }
  return {0, 0};
}

}  // namespace

LinkFit measure_link(Group& group, Rank a, Rank b) {
  std::array<double, 3> fit{};
  if (group.rank() == a || group.rank() == b) {
    const Rank peer = group.rank() == a ? b : a;
    std::vector<TransferSample> samples;
    std::vector<std::byte> buffer(std::size_t{1} << 20);
    for (const std::size_t bytes : kProbeBytes) {
      std::vector<Seconds> times;
      times.reserve(kProbes);
      for (int i = 0; i < kProbes; ++i) {
        times.push_back(
            round_trip(group.transport(), peer, group.rank() == a, std::span(buffer).first(bytes)));
      }
      samples.push_back({bytes, median(std::move(times))});
    }
    const LinkFit found = fit_link(samples);
    fit = {found.link.alpha.count(), found.link.beta, found.residual};
  }
  group.broadcast(std::span<double>(fit), a);
  return {{Seconds(fit[0]), fit[1]}, fit[2]};
}

Topology measure_topology(Group& group, std::span<const int> host_of) {
  const auto host = [&](Rank rank) { return host_of[static_cast<std::size_t>(rank)]; };
  const auto near = first_pair(group.size(), [&](Rank a, Rank b) { return host(a) == host(b); });
  const auto far = first_pair(group.size(), [&](Rank a, Rank b) { return host(a) != host(b); });
  const bool has_near = near.first != near.second;
  const bool has_far = far.first != far.second;
  Link inside{Seconds(0), 0};
  Link between{Seconds(0), 0};
  if (has_near) inside = measure_link(group, near.first, near.second).link;
  if (has_far) between = measure_link(group, far.first, far.second).link;

  // Ranks of a host are its devices; what a message between hosts costs more is paid on the hosts' own edges.
  std::vector<TopologyNode> hosts;
  std::vector<int> seen;
  for (Rank rank = 0; rank < group.size(); ++rank) {
    auto at = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), host(rank)) - seen.begin());
    if (at == seen.size()) {
      seen.push_back(host(rank));
      const Seconds more = std::max(Seconds(0), (between.alpha - inside.alpha) / 2);
      hosts.push_back({{more, between.beta, has_far ? 0.0 : 1.0}, {{{Seconds(0), 0, 1}, {}}}});
    }
    hosts[at].children.front().children.push_back({{inside.alpha / 2, inside.beta, 1}, {}});
  }
  return Topology({TopologyNode{{Seconds(0), 0, 1}, std::move(hosts)}});
}

Tuner::Tuner(Group& group, Topology topology, ReduceOrder order)
    : group_(group),
      topology_(std::move(topology)),
      table_(std::make_shared<ChoiceTable>(group.size(), order)) {
  group.set_chooser(
      [table = table_](Collective collective, std::size_t bytes) { return table->find(collective, bytes); });
}

void Tuner::tune(Collective collective, std::size_t bytes) {
  if (group_.size() == 1) return;
  Demand demand{collective, bytes / sizeof(float), sizeof(float), table_->order()};
  demand.shares_memory = group_.transport().shared_memory() != nullptr;
  std::vector<Candidate> ways = candidates(demand, topology_);
  for (std::size_t i = 0; i < std::min(ways.size(), kMeasured); ++i) {
    ways[i].measured = measure(demand, ways[i].algorithm);
  }
  std::stable_sort(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(std::min(ways.size(), kMeasured)),
                   [](const Candidate& a, const Candidate& b) { return a.time() < b.time(); });
  if (ways.empty()) return;
  table_->add({collective, bytes, ways.front().algorithm});
  explanation_ += explain(demand, topology_, ways);
}

void Tuner::restore(const ChoiceTable& table) {
  if (table.world() != group_.size() || table.order() != table_->order()) {
    throw ConfigError(
        "the choice of algorithms was made for {} ranks and reduce order {}, this run has {} and {}",
        table.world(), name_of(table.order()), group_.size(), name_of(table_->order()));
  }
  *table_ = table;
}

// The median over a few runs of the slowest rank's time.
Seconds Tuner::measure(const Demand& demand, Algorithm algorithm) {
  const std::size_t bytes = demand.count * demand.element_bytes;
  const auto memory = group_.workspace(2 * bytes);
  std::vector<Seconds> times;
  for (int i = 0; i < kProbes; ++i) {
    group_.barrier();
    const TimePoint start = Clock::now();
    group_.run({demand.collective, algorithm, Reduction::max, DType::f32, 0, memory.data(),
                memory.data() + bytes, demand.count});
    double seconds = Seconds(Clock::now() - start).count();
    group_.all_reduce(std::span(&seconds, 1), Reduction::max);
    times.emplace_back(seconds);
  }
  return median(std::move(times));
}

}  // namespace hocket
