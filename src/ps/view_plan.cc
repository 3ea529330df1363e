#include "ps/view_plan.h"

#include <algorithm>

namespace hocket {
namespace {

using Chain = View::Chain;

bool holds(const std::vector<std::int32_t>& servers, std::int32_t server) {
  return std::find(servers.begin(), servers.end(), server) != servers.end();
}

// The slices of workers that are not live go round among those that are.
std::vector<std::int32_t> deal_slices(const std::vector<std::int32_t>& workers) {
  std::vector<std::int32_t> live;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    if (workers[worker] >= 0) live.push_back(static_cast<std::int32_t>(worker));
  }
  std::vector<std::int32_t> slices;
  slices.reserve(workers.size());
  std::size_t turn = 0;
  for (std::size_t slice = 0; slice < workers.size(); ++slice) {
    const bool has_own = workers[slice] >= 0 || live.empty();
    slices.push_back(has_own ? static_cast<std::int32_t>(slice) : live[turn++ % live.size()]);
  }
  return slices;
}

class Plan {
 public:
  Plan(const View& view, const ClusterFacts& facts) : old_(view), next_(view), facts_(facts) {
    next_.epoch = view.epoch + 1;
    next_.servers.resize(facts.servers.size(), -1);
  }

  View result() {
    for (std::size_t range = 0; range < next_.chains.size(); ++range) lose_gone(range);
    admit_new();
    for (std::size_t range = 0; range < next_.chains.size(); ++range) mend(range);
    balance();
    restart_joins();
    note_handed_over();
    next_.is_over = next_.is_over || facts_.is_over;
    if (!next_.is_over) {
      next_.incarnations = facts_.workers;
      next_.slices = deal_slices(facts_.workers);
    }
    return is_changed() ? next_ : old_;
  }

 private:
  const ServerFact& fact(std::int32_t server) const {
    return facts_.servers[static_cast<std::size_t>(server)];
  }
  bool is_meant(std::int32_t server) const {
    return next_.servers[static_cast<std::size_t>(server)] == fact(server).incarnation;
  }
  bool is_usable(std::int32_t server) const {
    return fact(server).is_live && is_meant(server) && !fact(server).is_leaving;
  }

  void lose_gone(std::size_t range) {
    Chain& chain = next_.chains[range];
    if (chain.joining >= 0 && fact(chain.joining).is_gone) chain.joining = -1;
    std::vector<std::int32_t> left;
    bool is_any_to_return = false;
    for (const std::int32_t server : chain.servers) {
      if (!fact(server).is_gone) left.push_back(server);
      is_any_to_return = is_any_to_return || is_meant(server);
    }
    if (!left.empty() || !is_any_to_return) chain.servers = left;
    if (chain.servers.empty()) chain.joining = -1;
  }

  // A new process takes its server's place when no chain means the one before it.
  void admit_new() {
    for (std::size_t at = 0; at < facts_.servers.size(); ++at) {
      const auto server = static_cast<std::int32_t>(at);
      if (fact(server).is_live && !is_meant(server) && load(server) == 0)
        next_.servers[at] = fact(server).incarnation;
    }
  }

  void mend(std::size_t range) {
    Chain& chain = next_.chains[range];
    if (chain.servers.empty()) return;
    const bool is_tail_kept = old_.chains[range].servers.back() == chain.servers.back();
    if (chain.joining >= 0 && facts_.has_caught_up[range] && is_tail_kept) {
      chain.servers.push_back(chain.joining);
      chain.joining = -1;
      return;
    }
    if (chain.joining >= 0) return;
    release_needless(chain);
    if (staying(chain) < wanted()) join(chain, lightest_outside(chain));
  }

  // Only from those who have just been heard: one that died a moment ago is no replica.
  void release_needless(Chain& chain) {
    const auto knows = [&](std::int32_t server) { return fact(server).knows_view; };
    if (!std::all_of(chain.servers.begin(), chain.servers.end(), knows)) return;
    for (std::size_t at = chain.servers.size(); at-- > 0 && staying(chain) >= facts_.replicas;) {
      if (fact(chain.servers[at]).is_leaving)
        chain.servers.erase(chain.servers.begin() + static_cast<std::ptrdiff_t>(at));
    }
    while (chain.servers.size() > static_cast<std::size_t>(facts_.replicas)) {
      chain.servers.erase(std::max_element(chain.servers.begin(), chain.servers.end(),
                                           [&](int a, int b) { return load(a) < load(b); }));
    }
  }

  // One range at a time moves from the server with most to the one with fewest.
  void balance() {
    for (const Chain& chain : next_.chains) {
      const bool is_mended = chain.joining < 0 && staying(chain) >= wanted() &&
                             static_cast<int>(chain.servers.size()) <= facts_.replicas;
      if (!is_mended) return;
    }
    for (Chain& chain : next_.chains) {
      const std::int32_t lightest = lightest_outside(chain);
      if (lightest < 0 || chain.servers.empty()) continue;
      const auto is_heavy = [&](std::int32_t server) { return load(server) >= load(lightest) + 2; };
      if (std::any_of(chain.servers.begin(), chain.servers.end(), is_heavy)) return join(chain, lightest);
    }
  }

  void join(Chain& chain, std::int32_t server) {
    if (server < 0) return;
    chain.joining = server;
    chain.joined = next_.epoch;
  }

  // Behind another tail it begins again.
  void restart_joins() {
    for (std::size_t range = 0; range < next_.chains.size(); ++range) {
      Chain& chain = next_.chains[range];
      const Chain& old = old_.chains[range];
      if (chain.joining >= 0 && chain.joining == old.joining && chain.servers.back() != old.servers.back())
        chain.joined = next_.epoch;
    }
  }

  // A head that lives may still serve, not knowing that it is none any more.
  void note_handed_over() {
    for (std::size_t range = 0; range < next_.chains.size(); ++range) {
      Chain& chain = next_.chains[range];
      const Chain& old = old_.chains[range];
      if (chain.servers.empty() || old.servers.empty() || chain.servers.front() == old.servers.front())
        continue;
      if (!fact(old.servers.front()).is_gone) chain.handed_over = next_.epoch;
    }
  }

  int load(std::int32_t server) const {
    int count = 0;
    for (const Chain& chain : next_.chains) count += holds(chain.servers, server) || chain.joining == server;
    return count;
  }
  int staying(const Chain& chain) const {
    return static_cast<int>(std::count_if(chain.servers.begin(), chain.servers.end(),
                                          [&](std::int32_t server) { return !fact(server).is_leaving; }));
  }
  int wanted() const {
    int usable = 0;
    for (std::size_t at = 0; at < facts_.servers.size(); ++at)
      usable += is_usable(static_cast<std::int32_t>(at));
    return std::min(facts_.replicas, usable);
  }
  std::int32_t lightest_outside(const Chain& chain) const {
    std::int32_t best = -1;
    for (std::size_t at = 0; at < facts_.servers.size(); ++at) {
      const auto server = static_cast<std::int32_t>(at);
      if (!is_usable(server) || holds(chain.servers, server)) continue;
      if (best < 0 || load(server) < load(best)) best = server;
    }
    return best;
  }
  bool is_changed() const {
    const auto are_same = [](const Chain& a, const Chain& b) {
      return a.servers == b.servers && a.joining == b.joining && a.joined == b.joined;
    };
    return next_.is_over != old_.is_over || next_.incarnations != old_.incarnations ||
           next_.slices != old_.slices || next_.servers != old_.servers ||
           !std::equal(next_.chains.begin(), next_.chains.end(), old_.chains.begin(), are_same);
  }

  const View& old_;
  View next_;
  const ClusterFacts& facts_;
};

}  // namespace

View first_view(const ClusterFacts& facts, int ranges) {
  View view;
  view.epoch = 1;
  view.incarnations = facts.workers;
  view.slices = deal_slices(facts.workers);
  const int servers = static_cast<int>(facts.servers.size());
  for (const ServerFact& fact : facts.servers) view.servers.push_back(fact.incarnation);
  for (int range = 0; range < ranges; ++range) {
    Chain& chain = view.chains.emplace_back();
    for (int i = 0; i < std::min(facts.replicas, servers); ++i)
      chain.servers.push_back((range + i) % servers);
  }
  return view;
}

View next_view(const View& view, const ClusterFacts& facts) { return Plan(view, facts).result(); }

}  // namespace hocket
