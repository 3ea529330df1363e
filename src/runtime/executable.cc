#include "runtime/executable.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace hocket {

Executable::Executable(std::unique_ptr<const Graph> graph, const StepLayouts& layouts,
                       std::span<const Gradient> gradients, KernelSet kernels, Communicator* communicator)
    : graph_(std::move(graph)),
      plan_(plan_memory(*graph_, layouts, gradients)),
      communicator_(communicator),
      work_(plan_.work_bytes) {
  prepare(kernels, communicator);
}

void Executable::prepare(KernelSet kernels, Communicator* communicator) {
  std::unordered_map<ValueId, std::size_t> pending;  // The exchange that a value comes from.
  std::size_t scratch_bytes = 0;
  std::size_t most_operands = 0;
  for (std::size_t i = 0; i < graph_->nodes().size(); ++i) {
    const Node& node = graph_->nodes()[i];
    if (is_alias(*graph_, node)) {
      if (const auto at = pending.find(node.inputs[0]); at != pending.end())
        pending[node.outputs[0]] = at->second;
      continue;
    }
    Instruction instruction;
    instruction.node = static_cast<int>(i);
    for (const ValueId id : node.inputs) {
      instruction.operands.push_back(plan_.locations[static_cast<std::size_t>(id)]);
      if (const auto at = pending.find(id); at != pending.end()) instruction.awaited.push_back(at->second);
    }
    instruction.inputs = instruction.operands.size();
    for (const ValueId id : node.outputs)
      instruction.operands.push_back(plan_.locations[static_cast<std::size_t>(id)]);
    if (communicator != nullptr && CollectiveKernel::is_for(node)) {
      auto exchange = std::make_unique<CollectiveKernel>(*graph_, node, instruction.operands, *communicator);
      if (exchange->is_deferrable()) {
        instruction.exchange = exchange.get();
        instruction.number = tickets_.size();
        tickets_.push_back(0);
        for (const ValueId id : node.outputs) pending[id] = instruction.number;
        for (const int updated : node.op->updates())
          pending[node.inputs[static_cast<std::size_t>(updated)]] = instruction.number;
      }
      kernels_.push_back(std::move(exchange));
    } else {
      kernels_.push_back(lower(*graph_, node, kernels));
    }
    instruction.kernel = kernels_.back().get();
    scratch_bytes = std::max(scratch_bytes, instruction.kernel->scratch_bytes());
    most_operands = std::max(most_operands, instruction.operands.size());
    instructions_[static_cast<std::size_t>(node.phase)].push_back(std::move(instruction));
  }
  scratch_ = Arena(scratch_bytes);
  pointers_.resize(most_operands);
}

Slot Executable::make_slot() const {
  Slot slot;
  slot.arena_ = Arena(plan_.slot_bytes);
  slot.inputs_.assign(plan_.inputs.size(), nullptr);
  return slot;
}

bool Executable::bind(Slot& slot, std::string_view input, std::byte* memory) const {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    if (graph_->value(plan_.inputs[i]).name != input) continue;
    slot.inputs_[i] = memory;
    return true;
  }
  return false;
}

std::byte* Executable::address(Location location, const Slot& slot, const Bindings& bindings) const {
  std::byte* base = nullptr;
  switch (location.space) {
    case Space::input: return slot.inputs_[location.offset];
    case Space::parameter: base = bindings.parameters; break;
    case Space::buffer: base = bindings.buffers; break;
    case Space::state: base = bindings.state; break;
    case Space::gradient: base = bindings.gradients; break;
    case Space::slot: base = slot.arena_.data(); break;
    case Space::work: base = work_.data(); break;
  }
  return base == nullptr ? nullptr : base + location.offset;
}

void Executable::run(Phase phase, Slot& slot, const Bindings& bindings, const Observer* observer) {
  for (const Instruction& instruction : instructions_[static_cast<std::size_t>(phase)]) {
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      pointers_[i] = address(instruction.operands[i], slot, bindings);
      HOCKET_CHECK(pointers_[i] != nullptr, "node {}: operand {} is not bound",
                   graph_->nodes()[static_cast<std::size_t>(instruction.node)].name, i);
    }
    const Buffers operands(pointers_.data(), instruction.operands.size());
    await(instruction);
    if (instruction.exchange != nullptr) {
      tickets_[instruction.number] = instruction.exchange->start(operands.first(instruction.inputs),
                                                                 operands.subspan(instruction.inputs));
    } else {
      instruction.kernel->run(operands.first(instruction.inputs), operands.subspan(instruction.inputs),
                              scratch_.data());
    }
    if (observer != nullptr) (*observer)(instruction.node);
  }
  if (phase != Phase::update) return;
  for (Communicator::Ticket& ticket : tickets_)
    communicator_->wait(std::exchange(ticket, Communicator::Ticket{0}));
}

void Executable::await(const Instruction& instruction) {
  for (const std::size_t number : instruction.awaited) {
    communicator_->wait(std::exchange(tickets_[number], Communicator::Ticket{0}));
  }
}

Tensor Executable::view(const Slot& slot, const Bindings& bindings, ValueId id) const {
  const ValueInfo& value = graph_->value(id);
  return {value.type.dtype, value.type.shape,
          address(plan_.locations[static_cast<std::size_t>(id)], slot, bindings), nullptr};
}

Tensor Executable::output(const Slot& slot, std::string_view name) const {
  for (const auto& [key, id] : graph_->outputs()) {
    if (key == name) return view(slot, {}, id);
  }
  return {};
}

}  // namespace hocket
