#include "plan/model_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/passes/passes.h"
#include "graph/text.h"
#include "plan/stage_names.h"

namespace hocket {
namespace {

using testing::ElementsAre;

// Two matrices with a bias and a relu each, and a way around the second.
constexpr const char* kModel = R"(
input x f32[N,8]
parameter a.weight f32[4,8] init=zeros
parameter a.bias f32[4] init=zeros
parameter b.weight f32[4,4] init=zeros
parameter c.weight f32[2,4] init=zeros
input label i32[N]
input weight f32[N]
a.product = matmul(x, a.weight, a.bias) tb=1
a.relu = relu(a.product)
b = matmul(a.relu, b.weight) tb=1
b.relu = relu(b)
sum = add(a.relu, b.relu)
c = matmul(sum, c.weight) tb=1
loss, loss:1 = softmax_cross_entropy(c, label, weight)
output loss = loss
)";

std::vector<int> layers_named(const Graph& step, const std::vector<int>& layers, std::string_view prefix) {
  std::vector<int> result;
  for (std::size_t i = 0; i < step.nodes().size(); ++i) {
    if (step.nodes()[i].name.starts_with(prefix)) result.push_back(layers[i]);
  }
  return result;
}

TEST(ModelLayers, BeginWhereParametersAreRead) {
  const std::unique_ptr<Graph> model = parse_text(kModel, "model", 16);
  const std::vector<ModelLayer> layers = layers_of(*model);
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].name, "a");
  EXPECT_EQ(layers[1].name, "b");
  EXPECT_EQ(layers[2].name, "c");
  EXPECT_EQ(layers[1].first_node, 2);
  EXPECT_EQ(layers[2].end_node, static_cast<int>(model->nodes().size()));
}

TEST(ModelLayers, CutsCountEverythingThatCrossesThem) {
  const std::unique_ptr<Graph> model = parse_text(kModel, "model", 16);
  const std::vector<ModelLayer> layers = layers_of(*model);
  EXPECT_EQ(layers[0].parameter_bytes, 4 * (4 * 8 + 4));
  EXPECT_EQ(layers[2].parameter_bytes, 4 * 8);
  EXPECT_EQ(layers[0].output_bytes, 4 * 16 * 4);  // a.relu, which two nodes read.
  EXPECT_EQ(layers[1].output_bytes, 4 * 16 * 4);  // The sum alone.
  EXPECT_EQ(layers[2].output_bytes, 0);
}

TEST(ModelLayers, BackwardNodesBelongToTheLayerOfTheirForward) {
  const std::unique_ptr<Graph> model = parse_text(kModel, "model", 16);
  const std::vector<ModelLayer> layers = layers_of(*model);
  const std::unique_ptr<Graph> step = model->clone();
  differentiate(*step, step->output("loss"));
  remove_dead_nodes(*step);
  fuse(*step);
  const std::vector<int> of_nodes = layers_of_step(*model, layers, *step);
  EXPECT_THAT(layers_named(*step, of_nodes, "d.c.weight"), ElementsAre(2));
  EXPECT_THAT(layers_named(*step, of_nodes, "d.sum"), ElementsAre(2));  // dy of c times its weight.
  EXPECT_THAT(layers_named(*step, of_nodes, "d.b.weight"), ElementsAre(1));
  EXPECT_THAT(layers_named(*step, of_nodes, "d.a.weight"), ElementsAre(0));
  EXPECT_THAT(layers_named(*step, of_nodes, "d.a.bias"), ElementsAre(0));
}

TEST(ModelLayers, WhatBackwardReadsIsKept) {
  const std::unique_ptr<Graph> model = parse_text(kModel, "model", 16);
  const std::vector<ModelLayer> layers = layers_of(*model);
  const std::unique_ptr<Graph> step = model->clone();
  differentiate(*step, step->output("loss"));
  remove_dead_nodes(*step);
  const std::vector<int> of_nodes = layers_of_step(*model, layers, *step);
  const std::vector<double> kept = kept_bytes_of(*step, of_nodes, 3);
  EXPECT_EQ(kept[0], 4 * 16 * 4);      // a.relu: its own gradient and the product of b read it.
  EXPECT_EQ(kept[1], 2 * 4 * 16 * 4);  // b.relu and the sum.
}

// Layers block.0.a, block.0.b, block.1.a and head.
constexpr const char* kBlocks = R"(
input x f32[N,4]
parameter block.0.a.weight f32[4,4] init=zeros
parameter block.0.b.weight f32[4,4] init=zeros
parameter block.1.a.weight f32[4,4] init=zeros
parameter head.weight f32[2,4] init=zeros
input label i32[N]
input weight f32[N]
block.0.a = matmul(x, block.0.a.weight) tb=1
block.0.b = matmul(block.0.a, block.0.b.weight) tb=1
block.1.a = matmul(block.0.b, block.1.a.weight) tb=1
head = matmul(block.1.a, head.weight) tb=1
loss, loss:1 = softmax_cross_entropy(head, label, weight)
output loss = loss
)";

TEST(StageNames, AScopeOfOneStageStandsForItsLayers) {
  const std::unique_ptr<Graph> model = parse_text(kBlocks, "model", 16);
  const std::vector<ModelLayer> layers = layers_of(*model);
  EXPECT_EQ(stage_names(*model, layers, std::vector{2, 4}), "block.0|block.1,head");
  EXPECT_EQ(stage_names(*model, layers, std::vector{1, 4}), "block.0.a|block.0.b,block.1,head");
  EXPECT_EQ(stage_names(*model, layers, std::vector{3, 4}), "block|head");
}

}  // namespace
}  // namespace hocket
