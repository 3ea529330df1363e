#include "collective/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/rng.h"
#include "collective/cost.h"
#include "net/emulation.h"

namespace hocket {
namespace {

constexpr double kAlpha = 50e-6;
constexpr double kBeta = 8e-10;

// Sum by passing chunks round the ring, then passing the sums round.
Schedule ring_schedule(Rank me, int world, std::size_t count) {
  return {2 * (world - 1), [=](int i, Round& round) {
            const Rank next = (me + 1) % world;
            const Rank prev = (me + world - 1) % world;
            const bool is_sum = i < world - 1;
            const int at = is_sum ? me - i : me + 1 - (i - (world - 1));
            round.push_back(send(next, split_evenly(count, world, at)));
            const Range range = split_evenly(count, world, at - 1);
            round.push_back(is_sum ? recv_reduce(prev, range) : recv(prev, range));
          }};
}

int log2_ceil(int world) { return std::bit_width(static_cast<unsigned>(world - 1)); }

// Broadcast from rank 0: in round i ranks below 2^i each tell one more.
Schedule tree_schedule(Rank me, int world, std::size_t count) {
  return {log2_ceil(world), [=](int i, Round& round) {
            const Rank stride = 1 << i;
            if (me < stride && me + stride < world) round.push_back(send(me + stride, {0, count}));
            if (me >= stride && me < 2 * stride) round.push_back(recv(me - stride, {0, count}));
          }};
}

// Everyone sends its block to everyone, all at once.
Schedule exchange_schedule(Rank me, int world, std::size_t count) {
  return {1, [=](int, Round& round) {
            for (int i = 1; i < world; ++i) round.push_back(send((me + i) % world, {0, count}));
            for (int i = 1; i < world; ++i) round.push_back(recv((me + i) % world, {0, count}));
          }};
}

template <typename Build>
Simulation run(Build build, const Topology& topology, std::size_t count) {
  return simulate([&](Rank me) { return build(me, topology.world(), count); }, topology, sizeof(float));
}

Topology uniform(int world) { return uniform_topology(world, {{Seconds(kAlpha), kBeta}}); }

TEST(Simulate, ARingTakesItsClosedForm) {
  for (const int world : {2, 3, 4, 8, 64}) {
    const std::size_t count = 1000 * static_cast<std::size_t>(world);
    const Simulation simulation = run(ring_schedule, uniform(world), count);
    const double bytes = 4.0 * static_cast<double>(count);
    const double expected = 2 * (world - 1) * (kAlpha + kBeta * bytes / world);
    for (const Seconds finish : simulation.finish) EXPECT_NEAR(finish.count(), expected, 1e-12 * expected);
    EXPECT_EQ(simulation.rounds, 2 * (world - 1));
    EXPECT_EQ(simulation.most_bytes, 2000u * 4 * static_cast<unsigned>(world - 1));
    EXPECT_EQ(simulation.bytes[0], simulation.most_bytes * static_cast<unsigned>(world));
    EXPECT_NEAR(simulation.utilisation(), 1, 1e-9);
    EXPECT_NEAR(price(ring_schedule(0, world, count), 0, uniform(world), 4).count(), expected,
                1e-12 * expected);
  }
}

TEST(Simulate, ATreeTakesItsClosedForm) {
  for (const int world : {2, 3, 5, 8, 100, 1024}) {
    const Simulation simulation = run(tree_schedule, uniform(world), 1000);
    const double expected = log2_ceil(world) * (kAlpha + kBeta * 4000);
    EXPECT_NEAR(simulation.time().count(), expected, 1e-12 * expected);
    EXPECT_EQ(simulation.messages, static_cast<unsigned>(world - 1));
  }
}

TEST(Simulate, LatencyGrowsLinearlyOnARingAndLogarithmicallyInATree) {
  const double ring_100 = run(ring_schedule, uniform(100), 100).time().count();
  const double ring_200 = run(ring_schedule, uniform(200), 100).time().count();
  const double ring_400 = run(ring_schedule, uniform(400), 100).time().count();
  EXPECT_NEAR((ring_400 - ring_200) / (ring_200 - ring_100), 2, 0.02);
  const double tree_16 = run(tree_schedule, uniform(16), 100).time().count();
  const double tree_256 = run(tree_schedule, uniform(256), 100).time().count();
  const double tree_4096 = run(tree_schedule, uniform(4096), 100).time().count();
  EXPECT_NEAR(tree_4096 - tree_256, tree_256 - tree_16, 1e-12);
}

TEST(Simulate, AnExchangeKeepsEveryLinkBusy) {
  for (const int world : {2, 7, 40}) {
    const Simulation simulation = run(exchange_schedule, uniform(world), 1000);
    EXPECT_NEAR(simulation.time().count(), (world - 1) * (kAlpha + kBeta * 4000), 1e-12);
    EXPECT_NEAR(simulation.utilisation(), 1, 1e-9);
  }
}

TEST(Simulate, RanksBehindAnOversubscribedUplinkShareIt) {
  const UniformOptions options{{Seconds(0), 1e-9}, 4, 4, Seconds(0), RankOrder::cyclic};
  const Topology racks = uniform_topology(16, options);  // A ring in which every message leaves its rack.
  const Topology flat = uniform_topology(16, {{Seconds(0), 1e-9}});
  const Simulation slow = run(ring_schedule, racks, 16000);
  EXPECT_NEAR(slow.time() / run(ring_schedule, flat, 16000).time(), 4, 1e-9);
  EXPECT_EQ(slow.bytes[static_cast<std::size_t>(Level::rack)], slow.bytes[0]);
  EXPECT_NEAR(slow.busy[2 * 16].count(), slow.time().count(),
              1e-9 * slow.time().count());  // The first uplink.
}

TEST(Simulate, ARingThatFollowsTheRacksCrossesEachUplinkOnce) {
  const UniformOptions options{{Seconds(0), 1e-9}, 4, 4, Seconds(0), RankOrder::block};
  const Simulation simulation = run(ring_schedule, uniform_topology(16, options), 16000);
  EXPECT_EQ(simulation.bytes[static_cast<std::size_t>(Level::rack)] * 4, simulation.bytes[0]);
  EXPECT_NEAR(simulation.time().count(), 30 * 4000e-9, 1e-12);
}

TEST(Simulate, MessagesSentAheadWaitForTheirRound) {
  // Rank 1 sends two messages at once; rank 0 takes them in two rounds, the first after rank 2's.
  const auto schedule = [](Rank me) -> Schedule {
    return {2, [me](int i, Round& round) {
              if (me == 0 && i == 0) round = {recv(2, {0, 1}), recv(1, {0, 1})};
              if (me == 0 && i == 1) round = {recv(1, {0, 3})};
              if (me == 1 && i == 0) round = {send(0, {0, 1}), send(0, {0, 3})};
              if (me == 2 && i == 1) round = {send(0, {0, 1})};
            }};
  };
  const Topology topology = uniform_topology(3, {{Seconds(1), 1}});
  const Simulation simulation = simulate(schedule, topology, 1);
  EXPECT_EQ(simulation.finish[0].count(), 4 + 4);  // What it did not ask for yet is received afterwards.
  EXPECT_EQ(simulation.finish[1].count(), 2 + 4);
}

TEST(Simulate, ReportsRanksThatWaitForEver) {
  const auto schedule = [](Rank me) -> Schedule {
    return {1, [me](int, Round& round) { round = {recv(1 - me, {0, 1})}; }};
  };
  try {
    simulate(schedule, uniform(2), 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "simulate: rank 0 waits for rank 1 in round 1 of 1 for ever");
  }
}

// Random rounds: in each, everyone sends to some others and receives what they send, in any order.
struct RandomSchedules {
  RandomSchedules(std::uint64_t seed, int world, int rounds) : rounds_of(static_cast<std::size_t>(world)) {
    Rng rng{seed};
    for (std::vector<Round>& own : rounds_of) own.resize(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) {
      for (Rank from = 0; from < world; ++from) {
        for (Rank to = 0; to < world; ++to) {
          if (from == to || rng.below(3) != 0) continue;
          const Range range{0, rng.below(5000)};
          rounds_of[static_cast<std::size_t>(from)][static_cast<std::size_t>(i)].push_back(send(to, range));
          rounds_of[static_cast<std::size_t>(to)][static_cast<std::size_t>(i)].push_back(recv(from, range));
        }
      }
    }
  }
  Schedule of(Rank me) const {
    const std::vector<Round>& own = rounds_of[static_cast<std::size_t>(me)];
    return {static_cast<int>(own.size()),
            [&own](int i, Round& round) { round = own[static_cast<std::size_t>(i)]; }};
  }
  std::vector<std::vector<Round>> rounds_of;
};

// The same on a ledger, by the plainest means: of the ranks that can begin a round the earliest does.
class LedgerPlay {
 public:
  LedgerPlay(const RandomSchedules& schedules, const LinkTree& tree)
      : schedules_(schedules),
        memory_(LinkLedger::bytes_needed(tree) / sizeof(double)),
        ledger_(tree, std::as_writable_bytes(std::span(memory_))),
        states_(schedules.rounds_of.size()) {}

  std::vector<double> run() {
    for (std::size_t me = next(); me < states_.size(); me = next()) {
      begin(me);
      for (std::size_t rank = 0; rank < states_.size(); ++rank) try_end(rank);
    }
    std::vector<double> finish;
    for (const State& state : states_) finish.push_back(state.ready);
    return finish;
  }

 private:
  struct State {
    std::size_t round = 0;
    bool has_begun = false;
    double begin = 0;
    double ready = 0;
    std::map<Rank, std::deque<LinkLedger::Passage>> mail = {};
  };

  const Round& round_of(std::size_t me) const { return schedules_.rounds_of[me][states_[me].round]; }

  std::size_t next() const {
    const auto key = [&](std::size_t me) {
      return std::pair(states_[me].ready, turn_of(static_cast<Rank>(me)));
    };
    std::size_t first = states_.size();
    for (std::size_t me = 0; me < states_.size(); ++me) {
      if (states_[me].has_begun || states_[me].round == schedules_.rounds_of[me].size()) continue;
      if (first == states_.size() || key(me) < key(first)) first = me;
    }
    return first;
  }

  void begin(std::size_t me) {
    State& state = states_[me];
    state.begin = state.ready;
    state.has_begun = true;
    const Rank rank = static_cast<Rank>(me);
    for (const Action& action : round_of(me)) {
      if (!action.is_send()) continue;
      State& receiver = states_[static_cast<std::size_t>(action.peer)];
      receiver.mail[rank].push_back(
          ledger_.reserve(rank, action.peer, 4 * action.range.size, Seconds(state.begin)));
      state.ready = std::max(state.ready, ledger_.sent(rank).count());
    }
  }

  void try_end(std::size_t me) {
    State& state = states_[me];
    if (!state.has_begun) return;
    std::vector<std::pair<double, const Action*>> receives;  // By time of posting; here one a sender at most.
    for (const Action& action : round_of(me)) {
      if (action.is_send()) continue;
      if (state.mail[action.peer].empty()) return;
      receives.emplace_back(state.mail[action.peer].front().posted.count(), &action);
    }
    std::sort(receives.begin(), receives.end());
    for (const auto& receive : receives) {
      const Action& action = *receive.second;
      const Seconds delivered = ledger_.deliver(action.peer, static_cast<Rank>(me), 4 * action.range.size,
                                                state.mail[action.peer].front(), Seconds(state.begin));
      state.mail[action.peer].pop_front();
      state.ready = std::max(state.ready, delivered.count());
    }
    state.has_begun = false;
    ++state.round;
  }

  const RandomSchedules& schedules_;
  std::vector<double> memory_;
  LinkLedger ledger_;
  std::vector<State> states_;
};

TEST(Simulate, AgreesWithTheLedgerThatEmulatesLinks) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const int world = 2 + static_cast<int>(seed % 9);
    const UniformOptions options{{Seconds(kAlpha), kBeta},
                                 1 + static_cast<int>(seed % 4),
                                 4,
                                 Seconds(1e-5),
                                 seed % 2 == 0 ? RankOrder::block : RankOrder::cyclic};
    const Topology topology = uniform_topology(world, options);
    const RandomSchedules schedules(seed, world, 12);
    const Simulation simulation = simulate([&](Rank me) { return schedules.of(me); }, topology, 4);
    const std::vector<double> played = LedgerPlay(schedules, topology.links()).run();
    for (std::size_t me = 0; me < played.size(); ++me) {
      EXPECT_NEAR(simulation.finish[me].count(), played[me], 1e-12) << "seed " << seed << ", rank " << me;
      const Rank rank = static_cast<Rank>(me);
      EXPECT_GE(played[me] + 1e-12, price(schedules.of(rank), rank, topology, 4).count()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace hocket
