#pragma once

#include <functional>
#include <memory>

#include "graph/compression.h"
#include "graph/cut_stages.h"
#include "graph/flat_buckets.h"
#include "graph/place.h"
#include "nn/optimizer.h"
#include "runtime/executable.h"

namespace hocket {

struct ProgramOptions {
  OptimizerSpec optimizer{};
  KernelSet kernels = KernelSet::fast;
  bool bf16 = false;           // Products read bf16 copies of their operands.
  bool gradient_norm = false;  // Output "gradient_norm" even without clipping.
  int micro_batches = 1;       // Above 1, gradients add up over calls of backward until zeroed.
  bool recompute = false;      // Backward computes activations anew; not with zero 3.
  bool updates = true;         // Else there is no update phase: the gradients are for somebody else.

  PlaceOptions place{};  // How the step is cut; the rank of the communicator, which a mesh of several needs.
  Communicator* communicator = nullptr;
  std::size_t bucket_bytes = std::size_t{1} << 40;  // Gradients are reduced in buckets of this size.
  int zero = 0;                                     // What is sharded along dp; see flat_buckets.h.
  PipelineCut pipeline{};  // Which stages are this rank's; the nodes of the forward graph say theirs.
  std::optional<Compression> compress{};  // Of gradients that are summed along dp; not with zero.
};

// What this rank has of a parameter, buffer or state, and where in its arena.
struct Piece {
  ValueInfo source;  // Of the whole model.
  Shard shard;
  std::int64_t first = 0;  // Elements [first, first + count) of the shard, row by row.
  std::int64_t count = 0;
  std::size_t offset = 0;  // Bytes.
  bool is_slice = false;   // The ranks along dp have the others.

  const std::string& name() const { return source.name; }
  bool is_whole() const { return shard.is_whole() && count == shard.shape.count(); }
};

// A training step as one rank runs it, not yet compiled for a machine.
struct PlacedStep {
  PlacedGraph placed;
  std::vector<Piece> parameters, buffers, states;  // Before buckets take their place.
  std::vector<FlatBucket> buckets;
  std::vector<ParameterCopy> copies;  // Of all stages.
};

// The step of rank `options.place.rank`, without its communicator. Fails as Program does.
PlacedStep training_step(const Graph& forward, const ProgramOptions& options);

// A model compiled for training and for evaluation. Both share the layouts of parameters and buffers.
// Used by one thread at a time.
class Program {
 public:
  // `forward` is a model's forward graph with an output "loss", for the batch of all ranks. Throws
  // ConfigError when it cannot be differentiated or placed.
  Program(const Graph& forward, const ProgramOptions& options);

  const StepLayouts& layouts() const { return layouts_; }
  // Of all parameters, buffers or optimizer states of the model, however they are cut. What compression has
  // left out is none of them: it differs from rank to rank and starts at zero.
  const std::vector<Piece>& pieces(Role role) const { return pieces_.at(role); }
  const std::vector<Conversion>& conversions() const { return conversions_; }  // Of a training step.
  const std::vector<ParameterCopy>& copies() const { return copies_; }
  Executable& training() { return *training_; }
  Executable& evaluation() { return *evaluation_; }

 private:
  StepLayouts layouts_;
  std::map<Role, std::vector<Piece>> pieces_;
  std::vector<Conversion> conversions_;
  std::vector<ParameterCopy> copies_;
  std::unique_ptr<Executable> training_;
  std::unique_ptr<Executable> evaluation_;
};

// Everything that outlives a step, in arenas of its own.
struct StepMemory {
  Arena parameters;
  Arena gradients;
  Arena buffers;
  Arena state;
  bool are_common = false;  // Parameters and state, with other ranks.

  // With a communicator, gradients lie where other ranks can read them.
  explicit StepMemory(const StepLayouts& layouts, Communicator* communicator = nullptr);
  // With memory from `allocate`, zero and 64-byte aligned, for all but the state.
  using Allocate = std::function<std::span<std::byte>(std::size_t bytes)>;
  StepMemory(const StepLayouts& layouts, const Allocate& allocate);
  Bindings bindings() const {
    return {parameters.data(), gradients.data(), buffers.data(), state.data(), are_common};
  }

  // Sets parameters and buffers to their initial values and the rest to zero.
  void initialize(const Program& program, std::uint64_t seed);
  // From now on these ranks, which share memory, have parameters and state once: as the first of them has
  // them now. All of them call it; nothing but steps may write there afterwards.
  void share(Group& ranks);
};

// Copies the piece of a global tensor.
void copy_piece(const Tensor& whole, const Piece& piece, const Tensor& own);

// The tensor called `name` of an arena, as a view into it.
Tensor view_of(const Arena& arena, const ArenaLayout::Entry& entry);
Tensor view_of(const Arena& arena, const Piece& piece);  // A vector, unless it is a whole shard.

}  // namespace hocket
