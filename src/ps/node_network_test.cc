#include "ps/node_network.h"

#include <gtest/gtest.h>

#include <deque>

#include "net/job_key.h"

namespace hocket {
namespace {

// Nodes of one job in one thread: none of them may wait for another.
class Nodes {
 public:
  Nodes() { add(kCoordinator); }

  NodeNetwork& add(const NodeId& node) {
    options_.me = node;
    return networks_.emplace_back(options_, [](std::string_view) {});
  }

  void poll_all() {
    for (NodeNetwork& network : networks_) {
      network.poll(after(Seconds(0.001)), [&](const NodeId& from, const Message& message) {
        if (std::holds_alternative<Misdirected>(message)) heard_.push_back(from);
      });
    }
  }

  // Between nodes that are added from now on.
  void emulate(LinkLedger& links, int workers) {
    options_.emulation = &links;
    options_.workers = workers;
  }

  const std::vector<NodeId>& heard() const { return heard_; }

 private:
  FileDescriptor port_ = reserve_port("127.0.0.1");
  NodeNetworkOptions options_{{}, random_key(), local_endpoint(port_.get()), false, 0};
  std::deque<NodeNetwork> networks_;
  std::vector<NodeId> heard_;
};

TEST(NodeNetwork, TwoThatCallEachOtherAtOnceBothGetThrough) {
  Nodes nodes;
  NodeNetwork& first = nodes.add(server_node(0));
  NodeNetwork& second = nodes.add(server_node(1));
  first.send(kCoordinator, Stop{});
  second.send(kCoordinator, Stop{});
  for (int i = 0; i < 20; ++i) nodes.poll_all();  // They learn of each other.
  first.send(server_node(1), Misdirected{});
  second.send(server_node(0), Misdirected{});
  const TimePoint deadline = after(Seconds(10));
  while (nodes.heard().size() < 2 && Clock::now() < deadline) nodes.poll_all();
  EXPECT_EQ(nodes.heard().size(), 2U);
}

TEST(NodeNetwork, WhatIsSentWhileACallIsUnderWayArrives) {
  Nodes nodes;
  NodeNetwork& server = nodes.add(server_node(0));
  for (int i = 0; i < 3; ++i) server.send(kCoordinator, Misdirected{i, 0});
  const TimePoint deadline = after(Seconds(10));
  while (nodes.heard().size() < 3 && Clock::now() < deadline) nodes.poll_all();
  EXPECT_EQ(nodes.heard().size(), 3U);
}

TEST(NodeNetwork, WhoIsNotThereLosesMessagesAndHoldsUpNobody) {
  Nodes nodes;
  NodeNetwork& server = nodes.add(server_node(0));
  server.send(server_node(7), Misdirected{});
  EXPECT_TRUE(server.flush(after(Seconds(1))));
}

TEST(NodeNetwork, EmulatedLinksHoldMessagesBack) {
  const LinkTree tree = LinkTree::of_racks({2, LinkEdge{0.025, 0, 0}}, {}, {});  // Twice that between two.
  std::vector<double> queues(static_cast<std::size_t>(tree.queues()));
  LinkLedger ledger(tree, std::as_writable_bytes(std::span(queues)));
  Nodes nodes;
  nodes.emulate(ledger, 1);
  NodeNetwork& worker = nodes.add(worker_node(0));
  nodes.add(server_node(0)).send(kCoordinator, Stop{});
  worker.send(kCoordinator, Stop{});
  for (int i = 0; i < 20; ++i) nodes.poll_all();  // They learn of each other.
  const TimePoint deadline = after(Seconds(10));
  const TimePoint start = Clock::now();
  worker.send(server_node(0), Misdirected{});
  while (nodes.heard().empty() && Clock::now() < deadline) nodes.poll_all();
  EXPECT_EQ(nodes.heard().size(), 1U);
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace hocket
