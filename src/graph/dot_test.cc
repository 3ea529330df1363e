#include "graph/dot.h"

#include <gtest/gtest.h>

#include "graph/build.h"

namespace hocket {
namespace {

TEST(Dot, DrawsPhasesNodesAndTypes) {
  Graph graph;
  const Value x = graph.source("x \"1\"", {DType::f32, {4, 3}}, Role::parameter);
  graph.set_output("y", relu(x, "y"));
  graph.set_phase(Phase::backward);
  graph.add("relu_grad", {x, graph.find("y")});
  const std::string dot = print_dot(graph);
  EXPECT_NE(dot.find(R"(v0 [shape=ellipse, label="x \"1\""];)"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"(subgraph cluster_1 {)"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"(n0 [label="y\nrelu"];)"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"(v0 -> n0 [label="f32[4,3]"];)"), std::string::npos) << dot;
  EXPECT_NE(dot.find(R"(n0 -> o0 [label="f32[4,3]"];)"), std::string::npos) << dot;
}

}  // namespace
}  // namespace hocket
