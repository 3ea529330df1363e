#include "cli/bench/step_profile.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "cli/node_times.h"
#include "graph/operator.h"

namespace hocket {
namespace {

constexpr int kWarmUp = 5;

struct NodeCost {
  const Node* node = nullptr;
  double seconds = 0;
  double flops = 0;
};

double flops_of(const Graph& graph, const Node& node) {
  std::vector<Type> inputs;
  std::vector<Type> outputs;
  for (const ValueId id : node.inputs) inputs.push_back(graph.value(id).type);
  for (const ValueId id : node.outputs) outputs.push_back(graph.value(id).type);
  return node.op->flops(node, inputs, outputs);
}

std::vector<NodeCost> measure(StepLoop& loop, int steps) {
  NodeTimes times(loop.executable());
  loop.run(kWarmUp);
  for (int i = 0; i < steps; ++i) {
    times.begin();  // Drawing the batch counts as part of the first node.
    loop.step(&times.observer());
  }
  std::vector<NodeCost> costs;
  for (std::size_t i = 0; i < times.seconds().size(); ++i) {
    const Node& node = loop.graph().nodes()[i];
    const double seconds = times.seconds()[i];
    if (std::isfinite(seconds)) costs.push_back({&node, seconds, flops_of(loop.graph(), node)});
  }
  return costs;
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::update: break;
  }
  return "update";
}

std::string line(const NodeCost& cost, double total, const Graph& graph) {
  const Node& node = *cost.node;
  const std::string type = node.outputs.empty() ? "" : to_string(graph.value(node.outputs[0]).type);
  return fmt::format("{:9.3f} {:6.1f} % {:8.1f}  {:<9}{:<26}{} {}\n", cost.seconds * 1e3,
                     100 * cost.seconds / total, cost.flops / cost.seconds * 1e-9, name_of(node.phase),
                     node.op->name(), node.name, type);
}

std::string sums_by_operator(const std::vector<NodeCost>& costs, double total) {
  struct Sum {
    int nodes = 0;
    double seconds = 0;
    double flops = 0;
  };
  std::map<std::string_view, Sum> by_operator;
  for (const NodeCost& cost : costs) {
    Sum& sum = by_operator[cost.node->op->name()];
    ++sum.nodes;
    sum.seconds += cost.seconds;
    sum.flops += cost.flops;
  }
  std::vector<std::pair<std::string_view, Sum>> sums(by_operator.begin(), by_operator.end());
  std::sort(sums.begin(), sums.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  std::string text =
      fmt::format("{:>9} {:>8} {:>8}  {:<9}{}\n", "ms", "share", "GFLOP/s", "nodes", "operator");
  for (const auto& [op, sum] : sums) {
    text += fmt::format("{:9.3f} {:6.1f} % {:8.1f}  {:<9}{}\n", sum.seconds * 1e3, 100 * sum.seconds / total,
                        sum.flops / sum.seconds * 1e-9, sum.nodes, op);
  }
  return text;
}

}  // namespace

std::string profile_text(StepLoop& loop, const StepSetup& setup, int steps) {
  std::vector<NodeCost> costs = measure(loop, steps);
  double total = 0;
  for (const NodeCost& cost : costs) total += cost.seconds;
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });

  std::string text =
      fmt::format("{}: {:.3f} ms a step, {:.0f} {}, {:.1f} GFLOP/s\n\n", setup.name, total * 1e3,
                  static_cast<double>(setup.items()) / total, setup.unit(), loop.flops() / total * 1e-9);
  text += fmt::format("{:>9} {:>8} {:>8}  {:<9}{:<26}{}\n", "ms", "share", "GFLOP/s", "phase", "operator",
                      "node");
  for (const NodeCost& cost : costs) text += line(cost, total, loop.graph());
  return text + '\n' + sums_by_operator(costs, total);
}

}  // namespace hocket
