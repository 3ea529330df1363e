#include "net/emulation.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hocket {
namespace {

constexpr LinkEdge kLink{0.5, 0.01, 0};  // Two of them make a link of 1 s + 0.01 s a byte.

LinkTree flat(int world) { return LinkTree::of_racks({static_cast<std::size_t>(world), kLink}, {}, {}); }

// Two racks of two, whose uplinks carry no more than one rank's link does.
LinkTree two_racks() { return LinkTree::of_racks({4, kLink}, {0, 0, 1, 1}, {2, LinkEdge{0.25, 0, 0.01}}); }

struct Memory {
  explicit Memory(const LinkTree& tree) : numbers(LinkLedger::bytes_needed(tree) / sizeof(double)) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(numbers)); }
  std::vector<double> numbers;
};

TEST(LinkTree, SumsAlphaAndTakesTheSlowestEdge) {
  const LinkTree tree =
      LinkTree::of_racks({{1, 0.1, 0}, {2, 0.3, 0}, {4, 0.2, 0}}, {0, 0, 1}, {{8, 0, 0}, {16, 0.5, 0}});
  EXPECT_EQ(tree.route(0, 1).alpha, 3);
  EXPECT_EQ(tree.route(0, 1).beta, 0.3);
  EXPECT_EQ(tree.route(0, 1).levels, 1);
  EXPECT_EQ(tree.route(0, 2).alpha, 1 + 8 + 16 + 4);
  EXPECT_EQ(tree.route(2, 0).beta, 0.5);
  EXPECT_EQ(tree.route(2, 0).levels, 2);
  EXPECT_FALSE(tree.has_shared_edges());
}

// A ledger for ranks that post their receives as early as anyone sends.
struct Ledger : LinkLedger {
  using LinkLedger::LinkLedger;

  double arrival(Rank from, Rank to, std::size_t bytes, double now) {
    return deliver(from, to, bytes, reserve(from, to, bytes, Seconds(now)), Seconds(0)).count();
  }
};

TEST(LinkLedger, OneMessageTakesAlphaAndBeta) {
  const LinkTree tree = flat(2);
  Memory memory(tree);
  Ledger ledger(tree, memory.bytes());
  EXPECT_DOUBLE_EQ(ledger.arrival(0, 1, 100, 10), 12);
  EXPECT_DOUBLE_EQ(ledger.sent(0).count(), 12);
}

TEST(LinkLedger, ARankSendsAndReceivesOneMessageAtATimeInBothDirectionsAtOnce) {
  const LinkTree tree = flat(3);
  Memory memory(tree);
  Ledger ledger(tree, memory.bytes());
  EXPECT_DOUBLE_EQ(ledger.arrival(0, 1, 100, 0), 2);
  EXPECT_DOUBLE_EQ(ledger.arrival(0, 2, 100, 0), 4);  // Behind the first at 0.
  EXPECT_DOUBLE_EQ(ledger.arrival(2, 1, 100, 1), 4);  // Behind the first at 1.
  EXPECT_DOUBLE_EQ(ledger.arrival(1, 0, 100, 1), 3);  // The other way: nobody is there.
}

TEST(LinkLedger, AMessageThatNobodyAsksForYetIsInNobodysWay) {
  const LinkTree tree = flat(3);
  Memory memory(tree);
  LinkLedger ledger(tree, memory.bytes());
  const LinkLedger::Passage early = ledger.reserve(0, 2, 100, Seconds(0));
  const LinkLedger::Passage wanted = ledger.reserve(1, 2, 100, Seconds(0.5));
  EXPECT_DOUBLE_EQ(ledger.deliver(1, 2, 100, wanted, Seconds(0)).count(), 2.5);
  EXPECT_DOUBLE_EQ(ledger.deliver(0, 2, 100, early, Seconds(2.5)).count(), 4.5);
}

TEST(LinkLedger, SharedUplinksCarryOneMessageAfterTheOther) {
  const LinkTree tree = two_racks();
  Memory memory(tree);
  Ledger ledger(tree, memory.bytes());
  EXPECT_DOUBLE_EQ(ledger.arrival(0, 1, 100, 0), 2);  // Inside the rack.
  EXPECT_DOUBLE_EQ(ledger.arrival(1, 3, 100, 0), 2.5);
  EXPECT_DOUBLE_EQ(ledger.arrival(0, 2, 100, 2), 4.5);
  EXPECT_DOUBLE_EQ(ledger.arrival(1, 3, 100, 2.5), 5.5);  // 3 + 1 on the uplink, then alpha.
  EXPECT_DOUBLE_EQ(ledger.sent(1).count(), 5);
}

TEST(LinkLedger, LosesNothingWhenRanksRace) {
  constexpr int kRanks = 4;
  constexpr int kMessages = 2000;
  const LinkTree tree = LinkTree::of_racks({kRanks, LinkEdge{0, 1, 0}}, {0, 0, 0, 1}, {2, LinkEdge{0, 0, 1}});
  Memory memory(tree);
  {
    std::vector<std::jthread> ranks;
    for (Rank rank = 0; rank < kRanks - 1; ++rank) {
      ranks.emplace_back([&, rank] {
        Ledger ledger(tree, memory.bytes());
        for (int i = 0; i < kMessages; ++i) ledger.arrival(rank, kRanks - 1, 1, 0);
      });
    }
  }
  Ledger ledger(tree, memory.bytes());
  EXPECT_EQ(ledger.sent(0).count(), kMessages);
  constexpr double kAll = (kRanks - 1) * kMessages;
  EXPECT_EQ(ledger.reserve(0, 3, 1, Seconds(0)).carried.count(), kAll + 1);  // On the uplink.
  EXPECT_EQ(ledger.deliver(0, 3, 1, {}, Seconds(0)).count(), kAll + 1);      // In the ingress.
}

}  // namespace
}  // namespace hocket
