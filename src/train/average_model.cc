#include "train/average_model.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

Arena mean_of(const Arena& own, const ArenaLayout& layout, Group& replicas) {
  Arena mean(own.size());
  std::copy(own.bytes().begin(), own.bytes().end(), mean.bytes().begin());
  if (!layout.entries().empty()) replicas.run(mean_over(mean, layout));
  return mean;
}

}  // namespace

Operation mean_over(const Arena& arena, const ArenaLayout& layout) {
  const DType dtype = layout.entries().front().type.dtype;
  for (const ArenaLayout::Entry& entry : layout.entries())
    HOCKET_CHECK(entry.type.dtype == dtype, "{} is not {}", entry.name, name_of(dtype));
  Operation operation{Collective::all_reduce, Algorithm::automatic, Reduction::mean, dtype};
  operation.data = arena.data();
  operation.count = arena.size() / size_of(dtype);
  return operation;
}

AverageModel::AverageModel(Session& session, Group& replicas, Of what) : session_(session), what_(what) {
  const StepMemory& memory = session.memory();
  const StepLayouts& layouts = session.program().layouts();
  parameters_ = mean_of(memory.parameters, layouts.parameters, replicas);
  buffers_ = mean_of(memory.buffers, layouts.buffers, replicas);
  if (what == Of::model_and_optimizer) state_ = mean_of(memory.state, layouts.state, replicas);
  swap();
}

AverageModel::~AverageModel() { swap(); }

void AverageModel::swap() {
  std::swap(session_.memory().parameters, parameters_);
  std::swap(session_.memory().buffers, buffers_);
  if (what_ == Of::model_and_optimizer) std::swap(session_.memory().state, state_);
}

}  // namespace hocket
