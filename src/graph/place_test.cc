#include "graph/place.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/build.h"

namespace hocket {
namespace {

// z = relu(x·W1)·W2
std::unique_ptr<Graph> two_layer_graph(std::int64_t columns = 32) {
  auto graph = std::make_unique<Graph>();
  const Value x = graph->source("x", {DType::f32, {8, 16}}, Role::input);
  const Value w1 = graph->source("w1", {DType::f32, {16, 24}}, Role::parameter);
  const Value w2 = graph->source("w2", {DType::f32, {24, columns}}, Role::parameter);
  graph->set_output("z", matmul(relu(matmul(x, w1, false, false, "product"), "y"), w2, false, false, "z"));
  return graph;
}

PlacedGraph place_on(const Graph& graph, const std::string& mesh, const std::string& declaration) {
  PlaceOptions options;
  options.mesh = Mesh::parse(mesh, 0);
  options.declarations = {Declaration::parse(declaration)};
  return place(graph, {}, options);
}

std::string refusal(const std::string& mesh, const std::string& declaration, std::int64_t columns = 32) {
  try {
    place_on(*two_layer_graph(columns), mesh, declaration);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Place, AnOperatorCutByDataThatFeedsOneCutByModelIsGatheredOnce) {
  const PlacedGraph placed = place_on(*two_layer_graph(), "dp=2", "w2=dp:1");
  ASSERT_EQ(placed.conversions.size(), 1U);
  const Conversion& gather = placed.conversions[0];
  EXPECT_EQ(gather.collective, "all_gather");
  EXPECT_EQ(gather.axis, "dp");
  EXPECT_EQ(gather.ranks, 2);
  EXPECT_EQ(gather.value, "y");
  EXPECT_EQ(gather.reader, "z");
  EXPECT_EQ(gather.from, Placement(Sharded{0}));
  EXPECT_EQ(gather.to, Placement(Replicated{}));
  EXPECT_EQ(gather.bytes, 8U * 24 * 4);
  const Value made = placed.graph->find(gather.result);
  ASSERT_TRUE(made);
  EXPECT_EQ(made.shape(), (Shape{8, 24}));
  EXPECT_EQ(placed.placements.at(made.id()), Placements{Replicated{}});
  EXPECT_EQ(placed.graph->output("z").shape(), (Shape{8, 16}));
  int collectives = 0;
  for (const Node& node : placed.graph->nodes()) collectives += node.attributes.has("ranks") ? 1 : 0;
  EXPECT_EQ(collectives, 1);
}

TEST(Place, RefusesCutsThatAreUnevenOrOfNoUse) {
  EXPECT_EQ(refusal("tp=2", "w2=tp:1", 33),
            "place w2: w2 of f32[24,33] cannot be sharded(1) along tp (2 ranks); legal: tp:0, tp:replicated");
  EXPECT_EQ(refusal("tp=5", "w*=tp:0"),
            "place w*: w1 of f32[16,24] cannot be sharded(0) along tp (5 ranks); legal: tp:replicated");
  EXPECT_EQ(refusal("tp=2", "w1=tp:2"),
            "place w1: w1 of f32[16,24] cannot be sharded(2) along tp (2 ranks); legal: tp:0, tp:1, "
            "tp:replicated");
  EXPECT_EQ(refusal("tp=2", "w1=dp:0"), "place w1=dp: the mesh tp=2 has no axis dp");
  EXPECT_EQ(refusal("tp=2", "w3=tp:0"), "place: no parameter is called w3; see hocket models");
}

}  // namespace
}  // namespace hocket
