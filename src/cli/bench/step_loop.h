#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/model.h"
#include "runtime/program.h"

namespace hocket {

// A model that `hocket bench step` measures: what a step is made of. bench/torch_step.py has the same table.
struct StepSetup {
  std::string name;
  SampleSpec sample;
  std::int64_t batch = 0;
  std::int64_t preloaded = 0;  // Samples in memory that batches are drawn from.
  std::string optimizer;
  std::int64_t items_per_sample = 1;  // Tokens of a text.

  std::int64_t items() const { return batch * items_per_sample; }
  std::string_view unit() const { return items_per_sample > 1 ? "tokens/s" : "samples/s"; }
};

std::vector<StepSetup> step_setups();
const StepSetup& find_step_setup(std::span<const StepSetup> setups,
                                 std::string_view name);  // Throws ConfigError.

// The floating-point operations that a training step needs: those of matrix products, convolutions and
// attention, once forward and twice backward, but for the gradient of the data.
double training_flops(const Graph& forward);

// Whole training steps on random data: draw a batch, forward, backward, update. Used by one thread.
class StepLoop {
 public:
  // With a communicator, one rank's part of the steps that all ranks of its mesh take together, each with the
  // setup's batch.
  explicit StepLoop(const StepSetup& setup, Communicator* communicator = nullptr);

  void step(const Executable::Observer* observer = nullptr);
  double run(int steps);  // Returns the seconds that they took.

  double flops() const { return flops_; }  // Of this rank's step.
  std::span<const std::byte> parameters() const { return memory_->parameters.bytes(); }
  const Executable& executable() { return program_->training(); }
  const Graph& graph() { return executable().graph(); }

 private:
  // One field of the preloaded samples and its place in the batch.
  struct Column {
    Tensor samples;
    Tensor batch;
  };

  void add_column(const SampleField& field, std::int64_t classes);
  void bind_inputs();
  void draw_batch();

  StepSetup setup_;
  AxisShare share_;  // Of the batch of all ranks.
  OptimizerSpec optimizer_;
  double flops_ = 0;
  std::unique_ptr<Program> program_;
  std::unique_ptr<StepMemory> memory_;
  Slot slot_;
  std::vector<Column> columns_;
  Tensor weight_;
  Tensor loss_share_;
  Hyper hyper_;
  std::int64_t steps_ = 0;
};

}  // namespace hocket
