#include "sync/pair_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <queue>

#include "base/error.h"
#include "sync/components.h"

namespace hocket {
namespace {

// A whole cluster of peers in one thread, under virtual time. Messages between two peers keep their order and
// take a random time each; snapshots leave some time after they were sent.
class PairCluster {
 public:
  PairCluster(const PeerGraph& graph, std::uint64_t seed) : rng_{seed, 1} {
    for (int peer = 0; peer < graph.size(); ++peer) {
      nodes_.push_back(std::make_unique<Node>(*this, peer, graph.to(peer), seed));
      nodes_.back()->value = rng_.uniform(-1, 1);
    }
  }

  PairPeer& peer(int rank) { return node(rank).peer; }
  double& value(int rank) { return node(rank).value; }
  double now() const { return now_; }
  double mean() const {
    double sum = 0;
    for (const auto& node : nodes_) sum += node->value;
    return sum / static_cast<double>(nodes_.size());
  }
  double distance() const {
    double sum = 0;
    for (const auto& node : nodes_) sum += std::pow(node->value - mean(), 2);
    return std::sqrt(sum);
  }
  bool is_quiet() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->peer.is_free(); });
  }

  void at(double time, std::function<void()> action) {
    events_.emplace(std::pair(time, ++serial_), std::move(action));
  }
  // Until nothing is left to happen.
  void run() {
    while (!events_.empty()) {
      auto event = events_.extract(events_.begin());
      now_ = event.key().first;
      event.mapped()();
    }
  }

 private:
  struct Node final : PairWorld {
    Node(PairCluster& all, int rank, std::vector<int> neighbours, std::uint64_t seed)
        : cluster(all), me(rank), peer(rank, std::move(neighbours), seed, *this) {}

    void send(int to, PairWord word) override { cluster.deliver(me, to, word, 0); }
    void send_snapshot(int to, PairWord word) override {
      EXPECT_FALSE(is_sending) << "the snapshot is overwritten before it has left";
      is_sending = true;
      snapshot = value;
      const double sent = cluster.deliver(me, to, word, value);
      cluster.at(cluster.now() + (sent - cluster.now()) / 2, [this] {
        is_sending = false;
        peer.on_sent();
      });
    }
    void meet_half_way() override { value += (received - snapshot) / 2; }

    PairCluster& cluster;
    int me;
    double value = 0;
    double snapshot = 0;
    double received = 0;
    bool is_sending = false;
    PairPeer peer;
  };

  Node& node(int rank) { return *nodes_[static_cast<std::size_t>(rank)]; }

  // When it arrives.
  double deliver(int from, int to, PairWord word, double values) {
    double& last = last_arrival_[{from, to}];
    last = std::max(last, now_ + rng_.uniform(0.001, 0.1)) + 1e-9;
    at(last, [this, from, to, word, values] {
      if (word == PairWord::grant || word == PairWord::done) node(to).received = values;
      node(to).peer.on_message(from, word);
    });
    return last;
  }

  Rng rng_;
  double now_ = 0;
  std::uint64_t serial_ = 0;
  std::map<std::pair<double, std::uint64_t>, std::function<void()>> events_;
  std::map<std::pair<int, int>, double> last_arrival_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

PeerGraph random_connected_graph(Rng& rng) {
  PeerGraph graph(2 + static_cast<int>(rng.below(7)));
  const auto join = [&](int a, int b) {
    if (a == b) return;
    graph.try_connect(a, b);
    graph.try_connect(b, a);
  };
  for (int peer = 1; peer < graph.size(); ++peer) {
    join(peer, static_cast<int>(rng.below(static_cast<std::uint64_t>(peer))));
  }
  for (int more = static_cast<int>(rng.below(8)); more > 0; --more) {
    const auto size = static_cast<std::uint64_t>(graph.size());
    join(static_cast<int>(rng.below(size)), static_cast<int>(rng.below(size)));
  }
  return graph;
}

// Each worker steps and asks at its own pace; a step adds to its value. The sum of what was added.
double schedule_steps(PairCluster& cluster, int size, int steps, double size_of_step, Rng& rng) {
  double added = 0;
  for (int peer = 0; peer < size; ++peer) {
    const double pace = rng.below(4) == 0 ? 0.5 : 0.05;  // Some are ten times as slow.
    double time = 0;
    for (int step = 0; step < steps; ++step) {
      time += pace * rng.uniform(0.5, 1.5);
      const double gradient = size_of_step * rng.uniform(-1, 1);
      added += gradient;
      cluster.at(time, [&cluster, peer, gradient] {
        cluster.value(peer) += gradient;
        cluster.peer(peer).try_ask();
      });
    }
  }
  return added;
}

TEST(PairPeer, NeverWaitsInACircleAndKeepsTheSum) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Rng rng{seed, 2};
    const PeerGraph graph = random_connected_graph(rng);
    PairCluster cluster(graph, seed);
    const double before = cluster.mean() * graph.size();
    const double added = schedule_steps(cluster, graph.size(), 30, 0.1, rng);
    cluster.run();
    ASSERT_TRUE(cluster.is_quiet()) << "seed " << seed << ": somebody waits for ever";
    ASSERT_NEAR(cluster.mean() * graph.size(), before + added, 1e-12) << "seed " << seed;
    ASSERT_GT(cluster.peer(0).exchanges(), 0) << "seed " << seed;
  }
}

TEST(PairPeer, WithoutStepsAllComeToTheMean) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng{seed, 3};
    const PeerGraph graph = random_connected_graph(rng);
    PairCluster cluster(graph, seed);
    const double before = cluster.distance();
    schedule_steps(cluster, graph.size(), 400, 0, rng);
    cluster.run();
    EXPECT_LT(cluster.distance(), 0.02 * before) << "seed " << seed;
  }
}

TEST(PairPeer, TwoThatAskEachOtherMakeOneExchange) {
  PairCluster cluster(make_peer_graph("ring", 2), 1);
  cluster.value(0) = 1;
  cluster.value(1) = 3;
  EXPECT_TRUE(cluster.peer(0).try_ask());
  EXPECT_TRUE(cluster.peer(1).try_ask());
  EXPECT_FALSE(cluster.peer(1).try_ask());
  cluster.run();
  EXPECT_TRUE(cluster.is_quiet());
  EXPECT_EQ(cluster.value(0), 2);
  EXPECT_EQ(cluster.value(1), 2);
  EXPECT_EQ(cluster.peer(0).exchanges(), 1);
  EXPECT_EQ(cluster.peer(0).refusals(), 1);
}

TEST(PairPeer, WordsOutOfPlaceAreRefused) {
  PairCluster cluster(make_peer_graph("ring", 4), 1);
  EXPECT_THROW(cluster.peer(0).on_message(1, PairWord::grant), NetError);
  EXPECT_THROW(cluster.peer(0).on_message(1, PairWord::done), NetError);
  EXPECT_THROW(cluster.peer(0).on_message(1, PairWord::busy), NetError);
  EXPECT_THROW(cluster.peer(0).on_message(2, PairWord::ask), NetError) << "not a neighbour";
}

TEST(PairPeer, AloneItAsksNobody) {
  PairCluster cluster(make_peer_graph("ring", 1), 1);
  EXPECT_FALSE(cluster.peer(0).try_ask());
}

}  // namespace
}  // namespace hocket
