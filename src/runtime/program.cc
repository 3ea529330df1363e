#include "runtime/program.h"

#include <algorithm>

#include "graph/differentiate.h"
#include "graph/passes/passes.h"
#include "nn/initializer.h"
#include "tensor/box.h"

namespace hocket {
namespace {

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

// The step of all ranks together.
PlacedGraph serial_step(const Graph& forward, const ProgramOptions& options) {
  PlacedGraph step{forward.clone(), {}, {}, {}};
  step.gradients = differentiate(*step.graph, step.graph->output("loss"));
  if (options.micro_batches > 1) accumulate_gradients(*step.graph, step.gradients);
  add_updates(*step.graph, step.gradients, options.optimizer, options.gradient_norm);
  remove_dead_nodes(*step.graph);
  return step;
}

void keep_whole(PlacedGraph& step, Role role) {
  for (const ValueId id : step.graph->values_of(role)) {
    const ValueInfo& value = step.graph->value(id);
    step.sources[value.name] = {
        value.type, {}, IntList(static_cast<std::size_t>(value.type.shape.rank()), 0), value.type.shape};
  }
}

PlacedGraph training_step(const Graph& forward, const ProgramOptions& options) {
  PlacedGraph step = serial_step(forward, options);
  if (options.place.mesh.size() > 1) {
    step = place(*step.graph, step.gradients, options.place);
    bucket_gradients(*step.graph, step.gradients, options.bucket_bytes);
  } else {
    for (const Role role : {Role::parameter, Role::buffer, Role::state}) keep_whole(step, role);
  }
  optimize(*step.graph, options);
  return step;
}

// Parameters lie as they do in training.
std::unique_ptr<Graph> evaluation_graph(const Graph& forward, const ProgramOptions& options,
                                        const std::map<std::string, Shard>& shards) {
  std::unique_ptr<Graph> graph = for_inference(forward);
  if (options.place.mesh.size() > 1) {
    PlaceOptions as_trained = options.place;
    as_trained.kept = &shards;
    graph = std::move(place(*graph, {}, as_trained).graph);
  }
  optimize(*graph, options);
  return graph;
}

}  // namespace

Program::Program(const Graph& forward, const ProgramOptions& options) : layouts_(forward) {
  PlacedGraph training = training_step(forward, options);
  layouts_ = StepLayouts(*training.graph);
  shards_ = std::move(training.sources);
  conversions_ = std::move(training.conversions);
  training_ = std::make_unique<Executable>(std::move(training.graph), layouts_, training.gradients,
                                           options.kernels, options.communicator);
  evaluation_ =
      std::make_unique<Executable>(evaluation_graph(forward, options, shards_), layouts_,
                                   std::span<const Gradient>(), options.kernels, options.communicator);
}

StepMemory::StepMemory(const StepLayouts& layouts, Communicator* communicator)
    : parameters(layouts.parameters.bytes()),
      gradients(communicator == nullptr
                    ? Arena(layouts.parameters.bytes())
                    : Arena(communicator->allocate_gradients(layouts.parameters.bytes()))),
      buffers(layouts.buffers.bytes()),
      state(layouts.state.bytes()) {}

void StepMemory::initialize(Program& program, std::uint64_t seed) {
  const Graph& graph = program.training().graph();
  const auto fill = [&](Role role, const Arena& arena, const ArenaLayout& layout) {
    for (const ValueId id : graph.values_of(role)) {
      const ValueInfo& value = graph.value(id);
      const Tensor own = view_of(arena, layout.at(value.name));
      const Shard& shard = program.shard(value.name);
      if (shard.is_whole()) {
        hocket::initialize(value, seed, own);
        continue;
      }
      const Tensor whole(shard.global.dtype, shard.global.shape);
      hocket::initialize(value, seed, whole);
      copy_from_box(whole, shard.begin, own);
    }
  };
  fill(Role::parameter, parameters, program.layouts().parameters);
  fill(Role::buffer, buffers, program.layouts().buffers);
  std::fill(gradients.bytes().begin(), gradients.bytes().end(), std::byte{0});
  std::fill(state.bytes().begin(), state.bytes().end(), std::byte{0});
}

Tensor view_of(const Arena& arena, const ArenaLayout::Entry& entry) {
  return {entry.type.dtype, entry.type.shape, arena.data() + entry.offset, nullptr};
}

}  // namespace hocket
