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

  const std::vector<NodeId>& heard() const { return heard_; }

 private:
  NodeNetworkOptions options_{{}, random_key(), local_endpoint(listen_at({"127.0.0.1", 0}).get()), false, 0};
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

}  // namespace
}  // namespace hocket
