#include "collective/topology.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_topology(text, "t.toml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kRacks = R"(
racks = 2
hosts = 4
devices = 2
[link.rack]
alpha = "5us"
oversubscription = 4
[link.host]
alpha = "20us"
bandwidth = "10Gbit"
[link.device]
alpha = "1us"
bandwidth = "8GB/s"
)";

TEST(Topology, AddsAlphasAndTakesTheSlowestEdge) {
  const Topology topology = parse_topology(kRacks, "t.toml");
  ASSERT_EQ(topology.world(), 16);
  EXPECT_DOUBLE_EQ(topology.link(0, 1).alpha.count(), 2e-6);
  EXPECT_DOUBLE_EQ(topology.link(0, 1).beta, 1 / 8e9);
  EXPECT_DOUBLE_EQ(topology.link(0, 2).alpha.count(), 42e-6);
  EXPECT_DOUBLE_EQ(topology.link(0, 2).beta, 1 / 1.25e9);
  EXPECT_DOUBLE_EQ(topology.link(0, 15).alpha.count(), 52e-6);
  EXPECT_DOUBLE_EQ(topology.link(15, 0).beta, 1 / 1.25e9);  // The uplink has 4 * 1.25 / 4 GB/s.
  EXPECT_DOUBLE_EQ(topology.link(0, 15).time(1'250'000).count(), 52e-6 + 1e-3);
}

TEST(Topology, KnowsWhatRanksShare) {
  const Topology topology = parse_topology(kRacks, "t.toml");
  EXPECT_DOUBLE_EQ(topology.edge(Level::rack, 0).shared_beta, 1 / 1.25e9);
  EXPECT_DOUBLE_EQ(topology.edge(Level::host, 0).shared_beta, 1 / 1.25e9);  // Two ranks behind one adapter.
  EXPECT_EQ(topology.edge(Level::device, 0).shared_beta, 0);
  EXPECT_EQ(topology.edge(Level::socket, 0).shared_beta, 0);
}

TEST(Topology, AnUplinkSlowerThanAnAdapterSlowsOneMessageToo) {
  const Topology topology = uniform_topology(4, {{Seconds(1), 0.5}, 2, 8});
  EXPECT_EQ(topology.link(0, 1).beta, 0.5);
  EXPECT_EQ(topology.link(0, 2).beta, 2);  // Two at 0.5 s a byte, 8:1.
}

TEST(Topology, UniformRanksAreEquallyFar) {
  const Topology topology = uniform_topology(5, {{Seconds(3e-5), 7e-10}});
  for (Rank a = 0; a < 5; ++a) {
    for (Rank b = 0; b < 5; ++b) {
      if (a == b) continue;
      EXPECT_EQ(topology.link(a, b).alpha.count(), 3e-5);
      EXPECT_EQ(topology.link(a, b).beta, 7e-10);
    }
  }
  EXPECT_FALSE(topology.links().has_shared_edges());
}

TEST(Topology, ListsNodesThatDiffer) {
  const Topology topology = parse_topology(R"(
[[rack]]
[[rack.host]]
count = 2
bandwidth = "1GB"
[[rack.host]]
bandwidth = "2GB"
sockets = 2
devices = 3
[[rack]]
hosts = 1
)",
                                           "t.toml");
  EXPECT_EQ(topology.world(), 2 + 6 + 1);
  EXPECT_EQ(topology.count(Level::host), 4);
  EXPECT_EQ(topology.node_of(Level::socket, 5), 3);
  EXPECT_EQ(topology.link(0, 1).beta, 1e-9);
  EXPECT_EQ(topology.link(2, 8).beta, 5e-10);
  EXPECT_EQ(to_text(topology),
            "1 rack\n"
            "  2 hosts, 1.00 GB/s\n"
            "    1 socket\n"
            "      1 device\n"
            "  1 host, 2.00 GB/s that its ranks share\n"
            "    2 sockets\n"
            "      3 devices\n"
            "1 rack\n"
            "  1 host\n"
            "    1 socket\n"
            "      1 device\n");
}

TEST(Topology, DealsRanksToRacksByTurns) {
  const Topology topology = parse_topology("order = \"cyclic\"\nracks = 3\nhosts = 2", "t.toml");
  std::vector<int> racks;
  for (Rank rank = 0; rank < 6; ++rank) racks.push_back(topology.node_of(Level::rack, rank));
  EXPECT_EQ(racks, (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(topology.groups(), racks);
}

TEST(Topology, GroupsAreTheOutermostThatHoldSeveralRanks) {
  EXPECT_EQ(parse_topology("hosts = 2\ndevices = 2", "t").groups(), (std::vector<Rank>{0, 0, 1, 1}));
  EXPECT_EQ(parse_topology("racks = 2\nsockets = 2", "t").groups(), (std::vector<Rank>{0, 0, 1, 1}));
  EXPECT_EQ(parse_topology("racks = 3", "t").groups(), (std::vector<Rank>{0, 0, 0}));
  EXPECT_EQ(uniform_topology(3).groups(), (std::vector<Rank>{0, 0, 0}));
}

TEST(Topology, TheFirstRanksKeepTheirLinks) {
  const Topology topology = parse_topology(kRacks, "t.toml").first(9);
  EXPECT_EQ(topology.world(), 9);
  EXPECT_EQ(topology.count(Level::rack), 2);
  EXPECT_DOUBLE_EQ(topology.link(0, 8).alpha.count(), 52e-6);
  EXPECT_THROW(topology.first(10), ConfigError);
}

TEST(Topology, DetectsThisMachine) {
  for (const int world : {1, 2, 7}) {
    const Topology topology = detect_topology(world);
    EXPECT_EQ(topology.world(), world);
    EXPECT_EQ(topology.count(Level::host), 1);
  }
}

TEST(Topology, OpensWhatUsersType) {
  const Topology topology = open_topology("uniform:alpha=20us,bandwidth=1GB,rack=4,oversubscription=4", 8);
  EXPECT_DOUBLE_EQ(topology.link(0, 7).alpha.count(), 20e-6);
  EXPECT_EQ(topology.count(Level::rack), 2);
  EXPECT_EQ(open_topology("this", 2).world(), 2);
  EXPECT_THROW(open_topology("uniform:alfa=20us", 8), ConfigError);
  EXPECT_THROW(open_topology("uniform:alpha=20", 8), ConfigError);
  EXPECT_THROW(open_topology("nowhere/x.toml", 8), ConfigError);
}

TEST(TopologyFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("racks = 0"), "t.toml:1:9: expected a whole number from 1 to 100000");
  EXPECT_EQ(error_of("hosts = 2\nrackss = 3"), "t.toml:2:1: unknown key rackss; did you mean racks?");
  EXPECT_EQ(error_of("[link.host]\nalpha = 20"), "t.toml:2:9: alpha: expected a time such as \"20us\"");
  EXPECT_EQ(error_of("[link.host]\nbandwidth = \"10\""),
            "t.toml:2:13: bandwidth: expected a rate such as \"10Gbit\" or \"1.2GB/s\"");
  EXPECT_EQ(error_of("[link.rack]\noversubscription = 0.5"),
            "t.toml:2:20: oversubscription: expected a number from 1 to 1000000");
  EXPECT_EQ(error_of("[link.rock]"), "t.toml:1:7: unknown key rock; did you mean rack?");
  EXPECT_EQ(error_of("racks = 1000\nhosts = 1000"), "t.toml:1:9: more than 100000 ranks");
  EXPECT_EQ(error_of("rack = 3"), "t.toml:1:8: rack: expected [[rack]]");
  EXPECT_EQ(error_of("[[rack]]\nhosts = 2\n[[rack.host]]\ncount = 2"),
            "t.toml:2:1: unknown key hosts; did you mean host?");
  EXPECT_EQ(error_of("order = \"random\""), "t.toml:1:9: order: expected \"block\" or \"cyclic\"");
  EXPECT_EQ(error_of("racks = ").substr(0, 9), "t.toml:1:");
}

}  // namespace
}  // namespace hocket
