#pragma once

#include <functional>
#include <optional>
#include <string>

#include "data/loader.h"
#include "train/checkpoint_store.h"
#include "train/options.h"

namespace hocket {

// How far a run has come, as its checkpoints say.
struct RunProgress {
  std::int64_t step = 0;
  std::int64_t samples = 0;
  std::int64_t train_ns = 0;  // Of training, over all the times the run was resumed.
  DataPosition position{};    // Of the samples that come next.
};

// The checkpoints of a run: those it leaves below options.out, none where that is empty, and the one it goes
// on from. All ranks of the team call it together. Used by one thread.
class RunCheckpoints {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Restore = std::function<void(const CheckpointReader&)>;

  // Options and team must outlive it.
  RunCheckpoints(const TrainOptions& options, Team& team, Warn warn);

  // Restores the newest checkpoint where the options ask to go on from it. None: the run begins anew. Throws
  // ConfigError where it is of another run, and what `restore` throws.
  std::optional<RunProgress> resume(const Restore& restore);

  // Whether save() would leave something: not twice after the same step.
  bool wants(std::int64_t step) const { return store_ && saved_ != step; }
  // Leaves `tensors`, a session's checkpoint() to which settings may have been added.
  void save(Checkpoint tensors, const RunProgress& progress);

 private:
  const TrainOptions& options_;
  Team& team_;
  Warn warn_;
  std::optional<CheckpointStore> store_;
  std::int64_t saved_ = -1;
};

// The place in the data after so many steps of a whole batch each.
DataPosition position_after(std::int64_t step, std::int64_t steps_per_epoch, std::int64_t batch);

}  // namespace hocket
