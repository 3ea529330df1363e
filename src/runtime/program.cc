#include "runtime/program.h"

#include <algorithm>

#include "base/error.h"
#include "graph/differentiate.h"
#include "graph/passes/csr_updates.h"
#include "graph/passes/passes.h"
#include "graph/passes/recompute.h"
#include "nn/initializer.h"
#include "tensor/box.h"

namespace hocket {
namespace {

// Replaces every dense gradient by a sum that backward adds to and that the update reads.
void accumulate_gradients(Graph& graph, std::vector<Gradient>& gradients) {
  graph.set_phase(Phase::backward);
  const std::vector<int> makers = producers(graph);
  for (Gradient& gradient : gradients) {
    if (!gradient.value || gradient.row_ids) continue;
    const ValueInfo info = gradient.value.info();
    graph.set_stage(
        graph.nodes()[static_cast<std::size_t>(makers[static_cast<std::size_t>(gradient.value.id())])].stage);
    graph.value(gradient.value.id()).role = Role::activation;
    const Value sum = graph.source(info.name + ".total", info.type, Role::gradient);
    graph.apply("accumulate", std::vector<Value>{sum, gradient.value}, {}, info.name + ".accumulate");
    gradient.value = sum;
  }
  graph.set_stage(0);
  graph.set_phase(Phase::forward);
}

void optimize(Graph& graph, const ProgramOptions& options) {
  remove_dead_nodes(graph);
  fuse(graph);
  if (options.kernels == KernelSet::fast) {
    if (!options.bf16) fuse_pools(graph);
    choose_layouts(graph);
  }
  if (options.bf16) use_bf16_products(graph);
}

// The step of all ranks together.
PlacedGraph serial_step(const Graph& forward, const ProgramOptions& options) {
  PlacedGraph step{forward.clone(), {}, {}, {}};
  step.gradients = differentiate(*step.graph, step.graph->output("loss"));
  if (options.micro_batches > 1) accumulate_gradients(*step.graph, step.gradients);
  if (options.updates) add_updates(*step.graph, step.gradients, options.optimizer, options.gradient_norm);
  if (options.place.mesh.size_of("tp") > 1) {
    // Scores stay in parts: nobody looks at them in training.
    std::erase_if(step.graph->outputs(),
                  [](const auto& output) { return output.first == "scores" || output.first == "correct"; });
    split_losses(*step.graph);
  }
  remove_dead_nodes(*step.graph);
  if (options.pipeline.ranks > 1) sort_by_stage(*step.graph);
  return step;
}

std::vector<Piece> pieces_of(const PlacedGraph& step, Role role) {
  std::vector<Piece> pieces;
  for (const ValueId id : step.graph->values_of(role)) {
    ValueInfo source = step.graph->value(id);
    const auto at = step.sources.find(source.name);
    const IntList origin(static_cast<std::size_t>(source.type.shape.rank()), 0);
    const Shard shard =
        at == step.sources.end() ? Shard{source.type, {}, origin, source.type.shape} : at->second;
    source.type = shard.global;
    pieces.push_back({std::move(source), shard, 0, shard.shape.count(), 0});
  }
  return pieces;
}

ZeroOptions zero_options(const ProgramOptions& options) {
  ZeroOptions zero{options.zero, options.place.mesh.share(options.place.rank, "dp")};
  zero.bucket_bytes = std::min(options.bucket_bytes, zero.bucket_bytes);
  return zero;
}

}  // namespace

PlacedStep training_step(const Graph& forward, const ProgramOptions& options) {
  if (options.compress && options.zero > 0) {
    throw ConfigError("compress {} with zero {}: gradients that are sharded travel whole; choose one of them",
                      name_of(options.compress->kind), options.zero);
  }
  if (options.recompute && options.zero == 3)
    throw ConfigError("recompute with zero 3: parameters are gathered for forward and backward apart");
  PlacedStep step{serial_step(forward, options), {}, {}, {}, {}, {}};
  if (options.place.mesh.size() > 1) {
    PlaceOptions placing = options.place;
    placing.micro_batches = options.micro_batches;
    step.placed = place(*step.placed.graph, step.placed.gradients, placing);
  }
  if (options.pipeline.ranks > 1) {
    RankGraph own = cut_stages(step.placed, options.pipeline);
    step.placed = std::move(own.placed);
    step.copies = std::move(own.copies);
  }
  Graph& graph = *step.placed.graph;
  step.parameters = pieces_of(step.placed, Role::parameter);
  step.buffers = pieces_of(step.placed, Role::buffer);
  step.states = pieces_of(step.placed, Role::state);
  const ZeroOptions zero = zero_options(options);
  if (zero.level > 0 && zero.share.count > 1) {
    step.buckets = make_flat_buckets(graph, step.placed.gradients, zero);
    step.placed.gradients = shard_step(graph, step.placed.gradients, step.buckets, zero);
  } else if (options.compress) {
    compress_gradients(graph, step.placed.gradients, options.bucket_bytes, *options.compress);
  } else {
    bucket_gradients(graph, step.placed.gradients, options.bucket_bytes);
  }
  const bool is_alone = options.place.mesh.size() == 1 && options.pipeline.ranks == 1;
  if (is_alone && options.kernels == KernelSet::fast) update_from_csr(graph, step.placed.gradients);
  if (options.recompute) recompute_activations(graph);
  optimize(graph, options);
  return step;
}

namespace {

// Parameters lie as they do in training.
std::unique_ptr<Graph> evaluation_graph(const Graph& forward, const ProgramOptions& options,
                                        const PlacedStep& training) {
  PlacedGraph placed{for_inference(forward), {}, {}, {}};
  const bool is_cut = options.pipeline.ranks > 1;
  if (is_cut) sort_by_stage(*placed.graph);
  if (options.place.mesh.size() > 1) {
    PlaceOptions as_trained = options.place;
    as_trained.kept = &training.placed.sources;
    placed = place(*placed.graph, {}, as_trained);
  }
  if (is_cut) placed = std::move(cut_stages(placed, options.pipeline).placed);
  if (options.place.mesh.size() > 1) use_flat_buckets(*placed.graph, training.buckets, zero_options(options));
  optimize(*placed.graph, options);
  return std::move(placed.graph);
}

// Where the pieces lie, alone or in their buckets, of which `owner`, if any, has a slice.
void locate(std::vector<Piece>& pieces, const ArenaLayout& layout, std::span<const FlatBucket> buckets,
            std::optional<AxisShare> owner) {
  for (Piece& piece : pieces) {
    const std::size_t slash = piece.name().find('/');
    const std::string slot = slash == std::string::npos ? "" : piece.name().substr(0, slash + 1);
    const FlatBucket* home = nullptr;
    std::int64_t begin = 0;
    for (const FlatBucket& bucket : buckets) {
      for (const FlatMember& member : bucket.members) {
        if (slot + member.name != piece.name()) continue;
        home = &bucket;
        begin = member.begin;
      }
    }
    if (home == nullptr) {
      piece.offset = layout.at(piece.name()).offset;
      continue;
    }
    std::int64_t first = begin, end = begin + piece.count;
    if (owner) {
      piece.is_slice = true;
      first = std::clamp(first, owner->index * home->slice, (owner->index + 1) * home->slice);
      end = std::clamp(end, first, (owner->index + 1) * home->slice);
      piece.count = end - first;
      piece.first = piece.count == 0 ? 0 : first - begin;
      first -= owner->index * home->slice;
    }
    piece.offset =
        layout.at(slot + home->name).offset + static_cast<std::size_t>(first) * size_of(home->dtype);
  }
}

}  // namespace

Program::Program(const Graph& forward, const ProgramOptions& options) : layouts_(forward) {
  PlacedStep training = training_step(forward, options);
  layouts_ = StepLayouts(*training.placed.graph, training.placed.gradients);
  conversions_ = std::move(training.placed.conversions);
  copies_ = training.copies;
  std::unique_ptr<Graph> evaluation = evaluation_graph(forward, options, training);
  training_ =
      std::make_unique<Executable>(std::move(training.placed.graph), layouts_, training.placed.gradients,
                                   options.kernels, options.communicator, options.bucket_bytes);
  evaluation_ = std::make_unique<Executable>(std::move(evaluation), layouts_, std::span<const Gradient>(),
                                             options.kernels, options.communicator);
  const AxisShare share = zero_options(options).share;
  locate(training.parameters, layouts_.parameters, training.buckets,
         options.zero == 3 ? std::optional(share) : std::nullopt);
  locate(training.buffers, layouts_.buffers, {}, std::nullopt);
  locate(training.states, layouts_.state, training.buckets, share);
  pieces_[Role::parameter] = std::move(training.parameters);
  pieces_[Role::buffer] = std::move(training.buffers);
  pieces_[Role::state] = std::move(training.states);
}

StepMemory::StepMemory(const StepLayouts& layouts, Communicator* communicator)
    : parameters(layouts.parameters.bytes()),
      gradients(communicator == nullptr ? Arena(layouts.gradients.bytes())
                                        : Arena(communicator->allocate_gradients(layouts.gradients.bytes()))),
      buffers(layouts.buffers.bytes()),
      state(layouts.state.bytes()) {}

StepMemory::StepMemory(const StepLayouts& layouts, const Allocate& allocate)
    : parameters(allocate(layouts.parameters.bytes())),
      gradients(allocate(layouts.gradients.bytes())),
      buffers(allocate(layouts.buffers.bytes())),
      state(layouts.state.bytes()) {}

void StepMemory::initialize(const Program& program, std::uint64_t seed) {
  for (const Arena* arena : {&parameters, &gradients, &buffers, &state})
    std::fill(arena->bytes().begin(), arena->bytes().end(), std::byte{0});
  for (const auto& [role, arena] :
       {std::pair(Role::parameter, &parameters), std::pair(Role::buffer, &buffers)}) {
    for (const Piece& piece : program.pieces(role)) {
      const Tensor whole(piece.source.type.dtype, piece.source.type.shape);
      hocket::initialize(piece.source, seed, whole);
      copy_piece(whole, piece, view_of(*arena, piece));
    }
  }
}

void StepMemory::share(Group& ranks) {
  for (Arena* own : {&parameters, &state}) {
    Arena common(ranks.allocate_common(own->size()));
    if (ranks.rank() == 0) std::copy(own->bytes().begin(), own->bytes().end(), common.data());
    *own = std::move(common);
  }
  are_common = true;
  ranks.barrier();
}

void copy_piece(const Tensor& whole, const Piece& piece, const Tensor& own) {
  const Tensor part = piece.shard.is_whole() ? whole : Tensor(whole.dtype(), piece.shard.shape);
  if (!piece.shard.is_whole()) copy_from_box(whole, piece.shard.begin, part);
  const std::size_t element = size_of(whole.dtype());
  const auto source = part.bytes().subspan(static_cast<std::size_t>(piece.first) * element,
                                           static_cast<std::size_t>(piece.count) * element);
  std::copy(source.begin(), source.end(), own.bytes().begin());
}

Tensor view_of(const Arena& arena, const Piece& piece) {
  const bool is_shard = piece.count == piece.shard.shape.count();
  const Shape shape = is_shard ? piece.shard.shape : Shape{piece.count};
  return {piece.shard.global.dtype, shape, arena.data() + piece.offset, nullptr};
}

Tensor view_of(const Arena& arena, const ArenaLayout::Entry& entry) {
  return {entry.type.dtype, entry.type.shape, arena.data() + entry.offset, nullptr};
}

}  // namespace hocket
