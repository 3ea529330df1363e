#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "data/loader.h"
#include "tensor/kernel_specs.h"
#include "train/pipeline_plan.h"
#include "train/session.h"

namespace hocket {

// The micro-batches of a step on their way through this rank's stages: the slots that hold their activations,
// and the versions of the weights that they use. Used by one thread; the session must outlive it.
class MicroBatches {
 public:
  // `stage`: this rank's place along pp.
  MicroBatches(Session& session, const PipelinePlan& plan, int stage, int most);

  // What a step of so many micro-batches that are updated together does here, in order.
  std::span<const PipelineAction> actions(std::int64_t count);
  int slots() const { return static_cast<int>(slots_.size()); }
  Slot& slot(const PipelineAction& action);
  Bindings bindings(const PipelineAction& action) const;  // With the weights of the action's version.

  void bind_constants(std::byte* dloss, std::byte* hyper);
  // Binds the micro-batch of an action, number `index` of its batch, and the key of its random numbers.
  void bind(const PipelineAction& action, int index, const DataInfo& info, const Batch& batch,
            std::uint64_t seed, std::int64_t step);

  // Gives the update that makes action.version a copy of the version before to work on.
  void begin_version(const PipelineAction& action);
  // Puts the newest version, `last`, where the session has its parameters.
  void end_versions(int last);

  std::size_t activation_bytes() const;  // Of all slots.

 private:
  std::byte* weights_of(int version) const;

  Session& session_;
  PipelinePlan plan_;
  int stage_;
  std::vector<Slot> slots_;
  std::vector<std::array<std::int64_t, 3>> keys_;                // By slot.
  std::map<std::int64_t, std::vector<PipelineAction>> actions_;  // By number of micro-batches.
  std::vector<Arena> versions_;  // Version v is in place v % n, of which the session's own is 0.
};

}  // namespace hocket
