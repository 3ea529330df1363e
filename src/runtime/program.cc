#include "runtime/program.h"

#include <algorithm>

#include "graph/differentiate.h"
#include "graph/passes/passes.h"
#include "nn/initializer.h"

namespace hocket {
namespace {

struct TrainingGraph {
  std::unique_ptr<Graph> graph;
  std::vector<Gradient> gradients;
};

// Replaces every dense gradient by a sum that backward adds to and that the update reads.
void accumulate_gradients(Graph& graph, std::vector<Gradient>& gradients) {
  graph.set_phase(Phase::backward);
  for (Gradient& gradient : gradients) {
    if (!gradient.value || gradient.row_ids) continue;
    const ValueInfo info = gradient.value.info();
    graph.value(gradient.value.id()).role = Role::activation;
    const Value sum = graph.source(info.name + ".total", info.type, Role::gradient);
    graph.apply("accumulate", std::vector<Value>{sum, gradient.value}, {}, info.name + ".accumulate");
    gradient.value = sum;
  }
  graph.set_phase(Phase::forward);
}

void optimize(Graph& graph, const ProgramOptions& options) {
  remove_dead_nodes(graph);
  fuse(graph);
  if (options.kernels == KernelSet::fast) choose_layouts(graph);
  if (options.bf16) use_bf16_products(graph);
}

TrainingGraph training_graph(const Graph& forward, const ProgramOptions& options) {
  TrainingGraph result{forward.clone(), {}};
  Graph& graph = *result.graph;
  result.gradients = differentiate(graph, graph.output("loss"));
  if (options.micro_batches > 1) accumulate_gradients(graph, result.gradients);
  add_updates(graph, result.gradients, options.optimizer, options.gradient_norm);
  optimize(graph, options);
  return result;
}

std::unique_ptr<Graph> evaluation_graph(const Graph& forward, const ProgramOptions& options) {
  std::unique_ptr<Graph> graph = for_inference(forward);
  optimize(*graph, options);
  return graph;
}

}  // namespace

Program::Program(const Graph& forward, const ProgramOptions& options) : layouts_(forward) {
  TrainingGraph training = training_graph(forward, options);
  layouts_ = StepLayouts(*training.graph);
  training_ =
      std::make_unique<Executable>(std::move(training.graph), layouts_, training.gradients, options.kernels);
  evaluation_ = std::make_unique<Executable>(evaluation_graph(forward, options), layouts_,
                                             std::span<const Gradient>(), options.kernels);
}

StepMemory::StepMemory(const StepLayouts& layouts)
    : parameters(layouts.parameters.bytes()),
      gradients(layouts.parameters.bytes()),
      buffers(layouts.buffers.bytes()),
      state(layouts.state.bytes()) {}

void StepMemory::initialize(const Graph& graph, const StepLayouts& layouts, std::uint64_t seed) {
  const auto fill = [&](Role role, const Arena& arena, const ArenaLayout& layout) {
    for (const ValueId id : graph.values_of(role)) {
      const ValueInfo& value = graph.value(id);
      hocket::initialize(value, seed, view_of(arena, layout.at(value.name)));
    }
  };
  fill(Role::parameter, parameters, layouts.parameters);
  fill(Role::buffer, buffers, layouts.buffers);
  std::fill(gradients.bytes().begin(), gradients.bytes().end(), std::byte{0});
  std::fill(state.bytes().begin(), state.bytes().end(), std::byte{0});
}

Tensor view_of(const Arena& arena, const ArenaLayout::Entry& entry) {
  return {entry.type.dtype, entry.type.shape, arena.data() + entry.offset, nullptr};
}

}  // namespace hocket
