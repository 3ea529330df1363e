#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/source.h"
#include "nn/model.h"
#include "runtime/program.h"
#include "train/checkpoint_reader.h"
#include "train/options.h"
#include "train/team.h"

namespace hocket {

// What the model is told of the data.
SampleSpec sample_spec(const DataInfo& info);

// `options` with everything that was left to the trainer filled in for this data and model.
TrainOptions with_defaults(TrainOptions options, const DataInfo& info);

// The data of a run: what it trains on and what it is judged by.
struct SessionData {
  DataParts parts;                                    // As read.
  std::vector<std::unique_ptr<const Dataset>> views;  // Splits and augmentation over them.
  const Dataset* train = nullptr;
  const Dataset* held_out =
      nullptr;  // The validation part where one was asked for, else the test part; may be null.
};
SessionData open_session_data(const TrainOptions& options);

// The model for the batch of all ranks of a mesh. Throws ConfigError when it does not fit the data.
std::unique_ptr<Graph> build_batch_model(const TrainOptions& options, const DataInfo& info, const Mesh& mesh);

// How one rank of the mesh compiles `model`; the communicator is left out. `overlaps`: see Communicator.
ProgramOptions program_options(const TrainOptions& options, const Graph& model, const Mesh& mesh, int rank,
                               bool overlaps);

// A model compiled for its data, with its weights: all that training and evaluation work on. Used by one
// thread.
class Session {
 public:
  // `options` are with_defaults(). The team must outlive it. Throws ConfigError when the model does not fit
  // the data, or cannot be cut as the options say.
  Session(const TrainOptions& options, const DataInfo& info, Team& team);
  // For a worker that hands its gradients over instead of updating its parameters: both lie in memory from
  // `allocate`. `accumulates`: gradients add up until zeroed.
  Session(const TrainOptions& options, const DataInfo& info, Team& team, const StepMemory::Allocate& allocate,
          bool accumulates);

  Program& program() { return *program_; }
  StepMemory& memory() { return *memory_; }
  const Graph& model() const { return *model_; }
  std::int64_t parameter_count() const;
  std::int64_t micro_batch() const { return micro_batch_; }  // Samples of it in one replica.

  // From now on ranks along dp that share memory have weights and optimizer state in common, where updates as
  // the options want them allow it. All ranks call it, with the same values and options.
  void share_weights(const TrainOptions& options);

  // What this rank speaks for, as views of this session's memory: to be saved before the next step.
  Checkpoint checkpoint() const;
  // Reads what this rank has of each tensor, however the checkpoint's ranks had cut it. Throws ConfigError
  // when it is of another model or optimizer, and DataError. `prefix`: of the tensors' names.
  void restore(const CheckpointReader& checkpoint, bool with_optimizer, const std::string& prefix = "");

  // Parameters that other stages of a pipeline train, as inputs of this one's graphs: brings them up to date.
  // All ranks call it.
  void refresh_copies();
  void bind_copies(Executable& executable, Slot& slot) const;

  // parameter_hash of the weights as they are now, the same however they are cut; all ranks call it.
  std::string hash() const;

 private:
  const Arena& arena_of(Role role) const;
  bool is_owner(const Piece& piece) const;  // Of all that have the same elements, this rank speaks for them.
  Tensor whole(const Piece& piece, const Arena& arena) const;
  Tensor whole(const ValueInfo& parameter) const;
  void make_copies();

  Team& team_;
  std::int64_t micro_batch_;
  std::unique_ptr<Graph> model_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<StepMemory> memory_;
  std::map<std::string, Tensor> copies_;
};

// Binds the fields of `batch` and its sample weights to the inputs of the same names, from row `first` on.
void bind_batch(Executable& executable, Slot& slot, const DataInfo& info, const Batch& batch,
                std::int64_t first = 0);

// The value of a scalar output as a double; 0 when the graph has none.
double scalar_output(const Executable& executable, const Slot& slot, std::string_view name);

}  // namespace hocket
