#include "cli/model_description.h"

#include "graph/differentiate.h"
#include "graph/memory_plan.h"
#include "graph/operator.h"
#include "graph/passes/passes.h"
#include "nn/model.h"

namespace hocket {
namespace {

std::int64_t parameters_of(const Graph& graph, const Node& node) {
  std::int64_t count = 0;
  for (const ValueId id : node.inputs) {
    if (graph.value(id).role == Role::parameter) count += graph.value(id).type.shape.count();
  }
  return count;
}

std::vector<LayerDescription> layers_of(const Graph& graph) {
  std::vector<LayerDescription> layers;
  for (const Node& node : graph.nodes()) {
    const bool has_output = !node.outputs.empty();  // Else it updates running statistics.
    layers.push_back({node.name, std::string(node.op->name()),
                      has_output ? to_string(graph.value(node.outputs.front()).type) : "",
                      parameters_of(graph, node)});
  }
  return layers;
}

double flops_of(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    std::vector<Type> inputs;
    std::vector<Type> outputs;
    for (const ValueId id : node.inputs) inputs.push_back(graph.value(id).type);
    for (const ValueId id : node.outputs) outputs.push_back(graph.value(id).type);
    flops += node.op->flops(node, inputs, outputs);
  }
  return flops;
}

}  // namespace

ModelDescription describe_model(const Graph& forward, const OptimizerSpec& optimizer, std::int64_t batch) {
  const std::unique_ptr<Graph> step = forward.clone();
  const std::vector<Gradient> gradients = differentiate(*step, step->output("loss"));
  add_updates(*step, gradients, optimizer);

  ModelDescription description;
  description.layers = layers_of(forward);
  const ModelSize size = size_of_model(forward);
  description.parameters = size.parameters;
  description.forward_flops = size.forward_flops / static_cast<double>(batch);
  description.training_flops = flops_of(*step) / static_cast<double>(batch);

  remove_dead_nodes(*step);
  fuse(*step);
  choose_layouts(*step);
  const StepLayouts layouts(*step);
  const MemoryPlan plan = plan_memory(*step, layouts, gradients);
  description.parameter_bytes = layouts.parameters.bytes();
  description.gradient_bytes = layouts.parameters.bytes();
  description.optimizer_bytes = layouts.state.bytes();
  description.buffer_bytes = layouts.buffers.bytes();
  description.activation_bytes = plan.slot_bytes + plan.work_bytes;
  return description;
}

}  // namespace hocket
