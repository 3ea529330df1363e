#include "train/micro_batches.h"

#include <algorithm>

namespace hocket {

MicroBatches::MicroBatches(Session& session, const PipelinePlan& plan, int stage, int most)
    : session_(session), plan_(plan), stage_(stage) {
  // What an endless stream keeps it keeps after two rounds of all stages.
  const std::vector<PipelineAction> all = plan.actions(plan.is_stream() ? 2 * plan.ranks : most, stage);
  const int slots = most_in_flight(all, 0);
  for (int i = 0; i < slots; ++i) {
    slots_.push_back(session.program().training().make_slot());
    session.bind_copies(session.program().training(), slots_.back());
  }
  keys_.resize(slots_.size());
  const int versions = plan.is_stream() ? versions_kept(all) : 1;
  for (int i = 1; i < versions; ++i) versions_.emplace_back(session.memory().parameters.size());
}

std::span<const PipelineAction> MicroBatches::actions(std::int64_t count) {
  const auto at = actions_.find(count);
  if (at != actions_.end()) return at->second;
  return actions_[count] = plan_.actions(static_cast<int>(count), stage_);
}

Slot& MicroBatches::slot(const PipelineAction& action) {
  return slots_[static_cast<std::size_t>(action.micro_batch) % slots_.size()];
}

std::byte* MicroBatches::weights_of(int version) const {
  const std::size_t place = static_cast<std::size_t>(version) % (versions_.size() + 1);
  return place == 0 ? session_.memory().parameters.data() : versions_[place - 1].data();
}

Bindings MicroBatches::bindings(const PipelineAction& action) const {
  Bindings bindings = session_.memory().bindings();
  bindings.parameters = weights_of(action.version);
  return bindings;
}

void MicroBatches::bind_constants(std::byte* dloss, std::byte* hyper) {
  const Executable& executable = session_.program().training();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    executable.bind(slots_[i], "dloss", dloss);
    executable.bind(slots_[i], "hyper", hyper);
    executable.bind(slots_[i], "key", reinterpret_cast<std::byte*>(keys_[i].data()));
  }
}

void MicroBatches::bind(const PipelineAction& action, int index, const DataInfo& info, const Batch& batch,
                        std::uint64_t seed, std::int64_t step) {
  const std::int64_t first = index * session_.micro_batch();
  bind_batch(session_.program().training(), slot(action), info, batch, first);
  keys_[static_cast<std::size_t>(action.micro_batch) % slots_.size()] = {static_cast<std::int64_t>(seed),
                                                                         step, batch.offset + first};
}

void MicroBatches::begin_version(const PipelineAction& action) {
  const std::byte* before = weights_of(action.version - 1);
  std::byte* own = weights_of(action.version);
  if (before != own) std::copy_n(before, session_.memory().parameters.size(), own);
}

void MicroBatches::end_versions(int last) {
  std::byte* home = session_.memory().parameters.data();
  const std::byte* newest = weights_of(last);
  if (newest != home) std::copy_n(newest, session_.memory().parameters.size(), home);
}

std::size_t MicroBatches::activation_bytes() const {
  return slots_.size() * session_.program().training().plan().slot_bytes;
}

}  // namespace hocket
