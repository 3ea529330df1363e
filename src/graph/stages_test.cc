#include "graph/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "graph/cut_stages.h"
#include "graph/differentiate.h"
#include "graph/operator.h"

namespace hocket {
namespace {

using testing::HasSubstr;

// Four products one after the other; with `skip` the first result is added to the last.
std::unique_ptr<Graph> chain(bool skip = false) {
  auto graph = std::make_unique<Graph>();
  Value x = graph->source("x", {DType::f32, {4, 8}}, Role::input);
  Value first;
  for (int layer = 1; layer <= 4; ++layer) {
    const std::string name = fmt::format("fc{}", layer);
    const Value weight = graph->source(name + ".weight", {DType::f32, {8, 8}}, Role::parameter);
    x = graph->add("matmul", {x, weight}, {{"tb", 1}}, name);
    x = graph->add("relu", {x}, {}, name + ".relu");
    if (layer == 1) first = x;
  }
  if (skip) x = graph->add("add", {x, first}, {}, "sum");
  graph->set_output("loss", graph->add("reduce_mean", {x}, {{"axes", IntList{0, 1}}}, "loss"));
  return graph;
}

std::map<std::string, int> stages_of(const Graph& graph) {
  std::map<std::string, int> stages;
  for (const Node& node : graph.nodes()) stages[node.name] = node.stage;
  return stages;
}

TEST(Stages, HaveTheSameWorkWhereNothingIsSaid) {
  for (const int parts : {2, 4}) {
    const auto graph = chain();
    assign_stages(*graph, parts, "");
    const auto stages = stages_of(*graph);
    for (int layer = 1; layer <= 4; ++layer) {
      EXPECT_EQ(stages.at(fmt::format("fc{}", layer)), (layer - 1) * parts / 4);
      EXPECT_EQ(stages.at(fmt::format("fc{}.relu", layer)), (layer - 1) * parts / 4);
    }
    EXPECT_EQ(stages.at("loss"), parts - 1);
  }
}

TEST(Stages, AreThoseThatTheUserNames) {
  const auto graph = chain();
  assign_stages(*graph, 2, "fc1|fc2,fc3,fc4");
  EXPECT_EQ(stages_of(*graph).at("fc1.relu"), 0);
  EXPECT_EQ(stages_of(*graph).at("fc2"), 1);
  EXPECT_EQ(stages_of(*graph).at("loss"), 1);
}

std::string refusal_of_stages(int parts, const std::string& names) {
  try {
    const auto graph = chain();
    assign_stages(*graph, parts, names);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Stages, AreRefusedWhereTheyCannotBe) {
  EXPECT_THAT(refusal_of_stages(5, ""), HasSubstr("in 4 stages at most, and 5"));
  EXPECT_THAT(refusal_of_stages(2, "fc1|fc2|fc3"), HasSubstr("names 3 stages"));
  EXPECT_THAT(refusal_of_stages(2, "fc1,fc2|"), HasSubstr("stage 1 is empty"));
  EXPECT_THAT(refusal_of_stages(2, "fc3|fc1"), HasSubstr("comes later"));
  EXPECT_THAT(refusal_of_stages(2, "fc1|fc7"), HasSubstr("no layer fc7"));
  EXPECT_THAT(refusal_of_stages(2, "fc1|fc1"), HasSubstr("twice"));
  EXPECT_THAT(refusal_of_stages(1, "fc1"), HasSubstr("pp=2"));
}

// What a rank sends, as (from, to, channel) → types in order; what it receives likewise.
using Traffic = std::map<std::tuple<int, int, int>, std::vector<std::string>>;

void count_traffic(const Graph& graph, int rank, Traffic& sent, Traffic& received) {
  for (const Node& node : graph.nodes()) {
    const int peer = static_cast<int>(node.attributes.integer("peer", 0));
    const int channel = static_cast<int>(node.attributes.integer("channel", 0));
    if (node.op->name() == "send")
      sent[{rank, peer, channel}].push_back(to_string(graph.value(node.inputs[0]).type));
    if (node.op->name() == "receive")
      received[{peer, rank, channel}].push_back(to_string(graph.value(node.outputs[0]).type));
  }
}

TEST(CutStages, ReceiveWhatIsSentAndRunEveryNodeOnce) {
  for (const auto& [ranks, chunks] : {std::pair(2, 1), std::pair(4, 1), std::pair(2, 2)}) {
    PlacedGraph whole{chain(true), {}, {}, {}};
    assign_stages(*whole.graph, ranks * chunks, "");
    whole.gradients = differentiate(*whole.graph, whole.graph->output("loss"));
    sort_by_stage(*whole.graph);
    Traffic sent, received;
    std::size_t nodes = 0, gradients = 0, messages = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankGraph own = cut_stages(whole, {ranks, rank, chunks});
      count_traffic(*own.placed.graph, rank, sent, received);
      nodes += own.placed.graph->nodes().size();
      gradients += own.placed.gradients.size();
      EXPECT_EQ(own.placed.graph->values_of(Role::parameter).size(), own.placed.gradients.size());
    }
    EXPECT_EQ(sent, received);
    for (const auto& [route, types] : sent) messages += types.size();
    EXPECT_GE(messages, 2U * static_cast<std::size_t>(ranks * chunks - 1));
    EXPECT_EQ(nodes, whole.graph->nodes().size() + 2 * messages);
    EXPECT_EQ(gradients, 4U);
  }
}

}  // namespace
}  // namespace hocket
