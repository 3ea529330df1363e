#include "sync/peer_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/test_files.h"
#include "sync/components.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string edges_message(std::string_view text) {
  return message_of<DataError>([&] { parse_peer_graph(text, 4, "edges"); });
}

TEST(PeerGraph, BuiltInGraphsJoinWhomTheySay) {
  EXPECT_THAT(make_peer_graph("ring", 5).to(0), ElementsAre(1, 4));
  EXPECT_THAT(make_peer_graph("ring", 2).to(0), ElementsAre(1));
  EXPECT_THAT(make_peer_graph("ring", 1).to(0), ElementsAre());
  EXPECT_THAT(make_peer_graph("torus", 12).to(5), ElementsAre(1, 4, 6, 9));  // 3 rows of 4.
  EXPECT_THAT(make_peer_graph("torus", 4).to(0), ElementsAre(1, 2));
  EXPECT_THAT(make_peer_graph("complete", 4).to(2), ElementsAre(0, 1, 3));
  const PeerGraph exponential = make_peer_graph("exponential", 6);
  EXPECT_THAT(exponential.to(3), ElementsAre(1, 4, 5));
  EXPECT_THAT(exponential.from(3), ElementsAre(1, 2, 5));
  EXPECT_TRUE(exponential.is_directed());
  EXPECT_FALSE(make_peer_graph("torus", 12).is_directed());
  EXPECT_EQ(exponential.largest_degree(), 3);
}

TEST(PeerGraph, BuiltInGraphsAreConnectedAtEverySize) {
  for (const std::string_view name : {"ring", "torus", "complete", "exponential"}) {
    for (int size = 1; size <= 33; ++size) {
      EXPECT_EQ(strong_components(make_peer_graph(name, size)).size(), 1U) << name << " of " << size;
    }
  }
}

TEST(PeerGraph, UnknownNamesAreRefusedWithTheNearest) {
  try {
    make_peer_graph("rng", 4);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean ring?"));
  }
  EXPECT_THROW(require_peer_graph_name("file:"), ConfigError);
  EXPECT_THROW(make_peer_graph("file:/no/such/graph", 4), DataError);
}

TEST(PeerGraph, AFileHasOneEdgeALine) {
  const PeerGraph graph = parse_peer_graph("# a line\n0 1\n\n1->2 # one way\n 2 -> 3\r\n3 -> 0", 4, "edges");
  EXPECT_THAT(graph.to(0), ElementsAre(1));
  EXPECT_THAT(graph.to(1), ElementsAre(0, 2));
  EXPECT_THAT(graph.from(0), ElementsAre(1, 3));
  EXPECT_TRUE(graph.is_directed());
  EXPECT_FALSE(parse_peer_graph("0 -> 1\n1 -> 0\n", 4, "edges").is_directed());
}

TEST(PeerGraph, AFileIsRefusedWithItsLine) {
  EXPECT_EQ(edges_message("0 1\n0 x\n"), "edges: line 2: expected 'A B' or 'A -> B', found '0 x'");
  EXPECT_EQ(edges_message("0 1\n\n4 1\n"), "edges: line 3: worker 4 is not one of 0 to 3");
  EXPECT_EQ(edges_message("-1 1\n"), "edges: line 1: worker -1 is not one of 0 to 3");
  EXPECT_EQ(edges_message("2 2"), "edges: line 1: worker 2 is joined to itself");
  EXPECT_EQ(edges_message("0 1\n1 0"), "edges: line 2: 1 and 0 are joined already");
  for (const std::string_view bad : {"0", "0 1 2", "0 -> ", "-> 1", "0 <- 1", "99999999999 1", "0,1"}) {
    EXPECT_THAT(edges_message(bad), HasSubstr("edges: line 1: expected")) << bad;
  }
}

TEST(Components, AGraphInPartsIsRefusedWithThem) {
  const auto message = [](std::string_view edges) -> std::string {
    try {
      require_connected(parse_peer_graph(edges, 4, ""), "G");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("0 2\n1 3"), HasSubstr("graph G is not connected"));
  EXPECT_THAT(message("0 2\n1 3"), HasSubstr("{0, 2} {1, 3}"));
  EXPECT_THAT(message("0 1\n1 -> 2\n2 3"), HasSubstr("graph G is not strongly connected"));
  EXPECT_EQ(message("0 1\n1 2\n2 3"), "");
}

TEST(Components, ThoseThatReachEachOther) {
  EXPECT_EQ(to_string(strong_components(parse_peer_graph("0 2\n1 3", 4, ""))), "{0, 2} {1, 3}");
  EXPECT_EQ(to_string(strong_components(parse_peer_graph("0 1\n1 -> 2\n2 3", 4, ""))), "{0, 1} {2, 3}");
  EXPECT_EQ(to_string(strong_components(parse_peer_graph("", 3, ""))), "{0} {1} {2}");
  EXPECT_EQ(to_string(strong_components(parse_peer_graph("0->1\n1->2\n2->0", 3, ""))), "{0, 1, 2}");
}

}  // namespace
}  // namespace hocket
