#pragma once

#include <memory>

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

  PlaceOptions place{};  // How the step is cut; the rank of the communicator, which a mesh of several needs.
  Communicator* communicator = nullptr;
  std::size_t bucket_bytes = std::size_t{1} << 40;  // Gradients are reduced in buckets of this size.
};

// A model compiled for training and for evaluation. Both share the layouts of parameters and buffers.
// Used by one thread at a time.
class Program {
 public:
  // `forward` is a model's forward graph with an output "loss", for the batch of all ranks. Throws
  // ConfigError when it cannot be differentiated or placed.
  Program(const Graph& forward, const ProgramOptions& options);

  const StepLayouts& layouts() const { return layouts_; }
  // Which part of a parameter, buffer or state this rank has.
  const Shard& shard(const std::string& name) const { return shards_.at(name); }
  const std::vector<Conversion>& conversions() const { return conversions_; }  // Of a training step.
  Executable& training() { return *training_; }
  Executable& evaluation() { return *evaluation_; }

 private:
  StepLayouts layouts_;
  std::map<std::string, Shard> shards_;
  std::vector<Conversion> conversions_;
  std::unique_ptr<Executable> training_;
  std::unique_ptr<Executable> evaluation_;
};

// Everything that outlives a step, in arenas of its own.
struct StepMemory {
  Arena parameters;
  Arena gradients;
  Arena buffers;
  Arena state;

  // With a communicator, gradients lie where other ranks can read them.
  explicit StepMemory(const StepLayouts& layouts, Communicator* communicator = nullptr);
  Bindings bindings() const { return {parameters.data(), gradients.data(), buffers.data(), state.data()}; }

  // Sets parameters and buffers to their initial values and the rest to zero.
  void initialize(Program& program, std::uint64_t seed);
};

// The tensor called `name` of an arena, as a view into it.
Tensor view_of(const Arena& arena, const ArenaLayout::Entry& entry);

}  // namespace hocket
