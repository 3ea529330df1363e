// Ranks of one host need not have the same weights and optimizer state each: they can have them in common.
// Each then sums the gradients of its own part of all weights, straight out of the others' memory, and
// updates that part while the sum is in the cache. Besides half of the memory, two ranks so save half of what
// a sum of everything for everybody and an update of everything by everybody read and write. Nobody reads a
// weight while it is updated: sums begin when all ranks have gone backward, and nobody leaves before all are
// done. Every sum is in rank order and every update as it would be: the bits are those of weights of one's
// own.

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "runtime/executable.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

constexpr std::size_t kPieceOfThread = std::size_t{1} << 16;  // Bytes that are summed, then updated.

}  // namespace

bool Executable::is_common_update(const Instruction& instruction) const {
  const auto& operands = instruction.operands;
  const auto lasts = [](Location at) { return at.space != Space::slot && at.space != Space::work; };
  return instruction.kernel != nullptr && instruction.kernel->part_unit() > 0 &&
         instruction.kernel->scratch_bytes() == 0 && operands.size() > 1 &&
         operands[0].space == Space::parameter && operands[1].space == Space::gradient &&
         !instruction.parts[0].awaited.empty() && std::all_of(operands.begin(), operands.end(), lasts);
}

void Executable::prepare_common_updates() {
  const Group* replicas = communicator_->gradients();
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  const auto is_sum = [&](const Exchanged& exchanged) {
    const Node& node = graph_->nodes()[static_cast<std::size_t>(exchanged.node)];
    return node.op->name() == "all_reduce" && node.phase == Phase::backward &&
           node.attributes.text("axis", "") == "dp";
  };
  if (replicas == nullptr || !replicas->shares_memory() || chunks() != 1 || !transfers_.empty() ||
      !std::all_of(exchanged_.begin(), exchanged_.end(), is_sum) ||
      !std::all_of(updates.begin(), updates.end(), [&](const Instruction& i) { return is_common_update(i); }))
    return;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const std::size_t begin = updates[i].operands[1].offset;
    const std::size_t bytes = bytes_of(graph_->value(node_of(updates[i]).inputs[1]).type);
    common_updates_.push_back({begin, begin + align_up(bytes), i});
  }
  std::sort(common_updates_.begin(), common_updates_.end(),
            [](const CommonUpdate& a, const CommonUpdate& b) { return a.begin < b.begin; });
  choose_fetcher();
}

// Calls body(begin, end) for all that lies without a gap in the memory of gradients.
template <typename Body>
void Executable::for_each_run(const Body& body) const {
  for (std::size_t i = 0, next = 0; i < common_updates_.size(); i = next) {
    for (next = i + 1;
         next < common_updates_.size() && common_updates_[next].begin == common_updates_[next - 1].end;)
      ++next;
    body(common_updates_[i].begin, common_updates_[next - 1].end);
  }
}

// A weight that another rank has read lies in the caches of its processor, from which each line must be
// fetched before it is written: for those of a processor with another last cache as slow as memory. The
// largest gradient that is made when backward reads no weight any more does so for what this rank will
// update.
void Executable::choose_fetcher() {
  const Group& replicas = *communicator_->gradients();
  std::size_t most = 0;
  for (const Instruction& instruction : sequence_at(Phase::backward, 0).instructions) {
    const std::span<const Location> operands = instruction.operands;
    const auto in = operands.first(instruction.inputs), out = operands.subspan(instruction.inputs);
    if (std::any_of(in.begin(), in.end(), [](Location at) { return at.space == Space::parameter; })) {
      fetcher_ = nullptr;
      most = 0;
    }
    if (instruction.kernel == nullptr || instruction.parts.size() != 1 || out.empty() ||
        out[0].space != Space::gradient)
      continue;
    const std::size_t bytes = bytes_of(graph_->value(node_of(instruction).outputs[0]).type);
    if (bytes <= most) continue;
    most = bytes;
    fetcher_ = &instruction;
  }

  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  for_each_run([&](std::size_t begin, std::size_t end) {
    const Range mine = replicas.own_lines((end - begin) / sizeof(float), sizeof(float));
    const std::size_t first = begin + mine.offset * sizeof(float), last = begin + mine.end() * sizeof(float);
    for (const CommonUpdate& update : common_updates_) {
      const std::size_t from = std::max(first, update.begin), to = std::min(last, update.end);
      if (from < to)
        own_weights_.push_back(
            {updates[update.update].operands[0].offset + (from - update.begin), to - from});
    }
  });
  fetched_.resize(own_weights_.size());
}

MemoryRanges Executable::own_weights(const Bindings& bindings) {
  for (std::size_t i = 0; i < own_weights_.size(); ++i)
    fetched_[i] = {bindings.parameters + own_weights_[i].begin, own_weights_[i].bytes};
  return fetched_;
}

void Executable::update_common(Slot& slot, const Bindings& bindings, const Observer* observer) {
  const std::size_t piece = kPieceOfThread * static_cast<std::size_t>(kernel::num_threads()) / sizeof(float);
  HOCKET_CHECK(can_have_common_weights(), "updates that ranks cannot share");
  for_each_run([&](std::size_t begin, std::size_t end) {
    Operation sum;
    sum.data = bindings.gradients + begin;
    sum.count = (end - begin) / sizeof(float);
    const auto update = [&](Range summed) {
      update_range(begin + summed.offset * sizeof(float), begin + summed.end() * sizeof(float), slot,
                   bindings);
    };
    communicator_->sum_and_use(sum, piece, std::ref(update));  // Which allocates nothing.
    if (observer != nullptr) (*observer)(exchanged_[0].node);
  });
}

// What lies there of all gradients.
void Executable::update_range(std::size_t begin, std::size_t end, Slot& slot, const Bindings& bindings) {
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  auto at = std::partition_point(common_updates_.begin(), common_updates_.end(),
                                 [&](const CommonUpdate& update) { return update.end <= begin; });
  for (; at != common_updates_.end() && at->begin < end; ++at) {
    const Instruction& update = updates[at->update];
    const std::int64_t count = graph_->value(node_of(update).inputs[1]).type.shape.count();
    const auto element = [&](std::size_t place) {
      const std::size_t within = std::max(place, at->begin) - at->begin;
      return std::min(count, static_cast<std::int64_t>(within / sizeof(float)));
    };
    const Buffers operands = resolve(update.node, update.operands, slot, bindings);
    update.kernel->run_part(element(begin), element(end), operands.first(update.inputs),
                            operands.subspan(update.inputs), scratch_.data());
  }
}

}  // namespace hocket
