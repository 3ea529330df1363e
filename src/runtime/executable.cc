#include "runtime/executable.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hocket {

Executable::Executable(std::unique_ptr<const Graph> graph, const StepLayouts& layouts,
                       std::span<const Gradient> gradients, KernelSet kernels, Communicator* communicator,
                       std::size_t piece_bytes)
    : graph_(std::move(graph)),
      plan_(plan_memory(*graph_, layouts, gradients)),
      communicator_(communicator),
      exchanges_(communicator),
      work_(plan_.work_bytes) {
  prepare(kernels, piece_bytes);
  if (communicator == nullptr) return;
  communicator->overlaps() ? prepare_late_updates(piece_bytes) : prepare_common_updates();
}

Slot Executable::make_slot() const {
  Slot slot;
  slot.arena_ = Arena(plan_.slot_bytes);
  slot.inputs_.assign(plan_.inputs.size(), nullptr);
  slot.messages_.resize(transfers_.size());
  slot.is_posted_.assign(transfers_.size(), false);
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

void Executable::run(Phase phase, Slot& slot, const Bindings& bindings, const Observer* observer, int chunk) {
  if (phase == Phase::update && bindings.are_common) return update_common(slot, bindings, observer);
  const Sequence& sequence = sequence_at(phase, chunk);
  await(slot, sequence.sends);  // Of the slot's last run, whose memory is written now.
  post_receives(phase, slot, chunk);
  if (phase != Phase::forward) finish_update();
  if (phase == Phase::backward) exchanges_.begin_step();
  for (const Instruction& instruction : sequence.instructions) {
    await(slot, instruction.arrivals);
    for (std::size_t part = 0; part < instruction.parts.size(); ++part)
      run_part(instruction, part, slot, bindings);
    if (!transfers_.empty()) communicator_->links().progress();
    const bool is_left_to_update = sums_in_update(bindings) && !instruction.parts[0].starting.empty();
    if (observer != nullptr && !is_left_to_update) (*observer)(instruction.node);
  }
  if (phase == Phase::forward) finish_update();
  await(slot, sequence.receives);  // Those that only a later phase reads.
  for (const std::size_t number : sequence.receives) slot.is_posted_[number] = false;
  if (phase == Phase::update) exchanges_.wait_for_all();
}

void Executable::update_late(Slot& slot, const Bindings& bindings) {
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  late_slot_ = &slot;
  late_bindings_ = bindings;
  for (LateUpdate& late : late_updates_) {
    const std::vector<std::size_t>& awaited = updates[late.update].parts[late.part].awaited;
    late.is_due = true;
    if (std::all_of(awaited.begin(), awaited.end(),
                    [&](std::size_t exchange) { return exchanges_.is_done(exchange); }))
      run_late(late);
  }
}

void Executable::run_late(LateUpdate& late) {
  if (!std::exchange(late.is_due, false)) return;
  run_part(sequence_at(Phase::update, 0).instructions[late.update], late.part, *late_slot_, late_bindings_);
}

void Executable::finish_update() {
  if (late_slot_ == nullptr) return;
  for (LateUpdate& late : late_updates_) run_late(late);
  late_slot_ = nullptr;
}

Buffers Executable::resolve(int node, std::span<const Location> operands, const Slot& slot,
                            const Bindings& bindings) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    pointers_[i] = address(operands[i], slot, bindings);
    HOCKET_CHECK(pointers_[i] != nullptr, "node {}: operand {} is not bound",
                 graph_->nodes()[static_cast<std::size_t>(node)].name, i);
  }
  return {pointers_.data(), operands.size()};
}

void Executable::run_part(const Instruction& instruction, std::size_t index, Slot& slot,
                          const Bindings& bindings) {
  const Part& part = instruction.parts[index];
  if (late_slot_ != nullptr) {
    for (const std::size_t number : part.late) run_late(late_updates_[number]);
  }
  for (const std::size_t number : part.awaited) exchanges_.wait(number);
  if (instruction.sent) {
    const Transfer& transfer = transfers_[*instruction.sent];
    slot.messages_[*instruction.sent] = communicator_->links().send(
        transfer.peer, transfer.channel,
        {resolve(instruction.node, instruction.operands, slot, bindings)[0], transfer.bytes});
  } else if (instruction.kernel != nullptr) {
    const Buffers operands = resolve(instruction.node, instruction.operands, slot, bindings);
    const Buffers in = operands.first(instruction.inputs), out = operands.subspan(instruction.inputs);
    if (&instruction == fetcher_ && bindings.are_common) {
      instruction.kernel->run_and_fetch(in, out, scratch_.data(), own_weights(bindings));
    } else if (instruction.parts.size() == 1) {
      instruction.kernel->run(in, out, scratch_.data());
    } else {
      const std::int64_t begin = index == 0 ? 0 : instruction.parts[index - 1].end;
      instruction.kernel->run_part(begin, part.end, in, out, scratch_.data());
    }
  }
  if (sums_in_update(bindings)) return;
  for (const std::size_t number : part.starting) {
    const Exchanged& exchanged = exchanged_[number];
    const Buffers operands = resolve(exchanged.node, exchanged.operands, slot, bindings);
    exchanges_.start(number, operands.first(exchanged.inputs), operands.subspan(exchanged.inputs));
  }
}

const Executable::Sequence& Executable::sequence_at(Phase phase, int chunk) const {
  static const Sequence kNothing;
  const std::vector<Sequence>& sequences = sequences_[static_cast<std::size_t>(phase)];
  return static_cast<std::size_t>(chunk) < sequences.size() ? sequences[static_cast<std::size_t>(chunk)]
                                                            : kNothing;
}

const Node& Executable::node_of(const Instruction& instruction) const {
  return graph_->nodes()[static_cast<std::size_t>(instruction.node)];
}

int Executable::chunks() const {
  return static_cast<int>(sequences_[static_cast<std::size_t>(Phase::forward)].size());
}

void Executable::post_receives(Phase phase, Slot& slot, int chunk) {
  for (const std::size_t number : sequence_at(phase, chunk).receives) {
    if (slot.is_posted_[number]) continue;
    const Transfer& transfer = transfers_[number];
    slot.messages_[number] = communicator_->links().receive(
        transfer.peer, transfer.channel, {address(transfer.location, slot, {}), transfer.bytes});
    slot.is_posted_[number] = true;
  }
}

void Executable::await_first(Phase phase, Slot& slot, int chunk) {
  const Sequence& sequence = sequence_at(phase, chunk);
  post_receives(phase, slot, chunk);
  if (!sequence.instructions.empty()) await(slot, sequence.instructions.front().arrivals);
}

void Executable::await(Slot& slot, std::span<const std::size_t> messages) {
  for (const std::size_t number : messages) {
    if (slot.messages_[number].channel >= 0) communicator_->wait(slot.messages_[number]);
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
