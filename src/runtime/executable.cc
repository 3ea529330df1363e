#include "runtime/executable.h"

#include <algorithm>
#include <unordered_map>

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
  prepare(kernels, communicator, piece_bytes);
  if (communicator != nullptr && communicator->overlaps()) prepare_late_updates();
}

void Executable::prepare(KernelSet kernels, Communicator* communicator, std::size_t piece_bytes) {
  std::unordered_map<ValueId, std::size_t> pending;   // The exchange that a value comes from.
  std::unordered_map<ValueId, std::size_t> arriving;  // The message.
  const auto copy_entry = [](auto& map, ValueId from, ValueId to) {
    if (const auto at = map.find(from); at != map.end()) map[to] = at->second;
  };
  std::size_t scratch_bytes = 0;
  std::size_t most_operands = 0;
  for (std::size_t i = 0; i < graph_->nodes().size(); ++i) {
    const Node& node = graph_->nodes()[i];
    if (is_alias(*graph_, node)) {
      copy_entry(pending, node.inputs[0], node.outputs[0]);
      copy_entry(arriving, node.inputs[0], node.outputs[0]);
      continue;
    }
    Sequence& sequence = sequence_of(node);
    Instruction instruction;
    instruction.node = static_cast<int>(i);
    for (const ValueId id : node.inputs) {
      instruction.operands.push_back(plan_.locations[static_cast<std::size_t>(id)]);
      if (const auto at = pending.find(id); at != pending.end()) instruction.awaited.push_back(at->second);
      if (const auto at = arriving.find(id); at != arriving.end()) instruction.arrivals.push_back(at->second);
    }
    instruction.inputs = instruction.operands.size();
    for (const ValueId id : node.outputs)
      instruction.operands.push_back(plan_.locations[static_cast<std::size_t>(id)]);
    if (node.op->name() == "receive") {
      arriving[node.outputs[0]] = transfers_.size();
      sequence.receives.push_back(transfers_.size());
      add_transfer(node, node.outputs[0]);
      continue;
    }
    if (node.op->name() == "send") {
      instruction.sent = transfers_.size();
      sequence.sends.push_back(transfers_.size());
      add_transfer(node, node.inputs[0]);
    } else if (communicator != nullptr && CollectiveKernel::is_for(node)) {
      auto exchange =
          std::make_unique<CollectiveKernel>(*graph_, node, instruction.operands, *communicator, piece_bytes);
      if (exchange->is_deferrable()) {
        instruction.exchange = exchanges_.add(*exchange);
        for (const ValueId id : node.outputs) pending[id] = *instruction.exchange;
        for (const int updated : node.op->updates())
          pending[node.inputs[static_cast<std::size_t>(updated)]] = *instruction.exchange;
      }
      kernels_.push_back(std::move(exchange));
      instruction.kernel = kernels_.back().get();
    } else {
      kernels_.push_back(lower(*graph_, node, kernels));
      instruction.kernel = kernels_.back().get();
    }
    if (instruction.kernel != nullptr)
      scratch_bytes = std::max(scratch_bytes, instruction.kernel->scratch_bytes());
    most_operands = std::max(most_operands, instruction.operands.size());
    sequence.instructions.push_back(std::move(instruction));
  }
  scratch_ = Arena(scratch_bytes);
  pointers_.resize(most_operands);
}

// Which update writes a value. Nothing where updates cannot be late: where one reads or writes what does not
// outlive the step or what another has written, or where an exchange is awaited before all have begun.
std::optional<std::unordered_map<ValueId, std::size_t>> Executable::late_writers() const {
  const auto is_exchange = [](const Instruction& one) { return one.exchange.has_value(); };
  const auto awaits = [](const Instruction& one) { return !one.awaited.empty(); };
  const auto lasts = [](Location at) { return at.space != Space::slot && at.space != Space::work; };
  const std::vector<Instruction>& forward = sequence_at(Phase::forward, 0).instructions;
  const std::vector<Instruction>& backward = sequence_at(Phase::backward, 0).instructions;
  if (chunks() != 1 || !transfers_.empty() || std::none_of(backward.begin(), backward.end(), is_exchange) ||
      std::any_of(forward.begin(), forward.end(), is_exchange) ||
      std::any_of(backward.begin(), backward.end(), awaits))
    return std::nullopt;
  std::unordered_map<ValueId, std::size_t> writer;
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const Node& node = graph_->nodes()[static_cast<std::size_t>(updates[i].node)];
    const auto is_written = [&](ValueId id) { return writer.contains(id); };
    if (CollectiveKernel::is_for(node) ||
        !std::all_of(updates[i].operands.begin(), updates[i].operands.end(), lasts) ||
        std::any_of(node.inputs.begin(), node.inputs.end(), is_written))
      return std::nullopt;
    for (const int updated : node.op->updates()) writer[node.inputs[static_cast<std::size_t>(updated)]] = i;
  }
  return writer;
}

void Executable::prepare_late_updates() {
  const auto writers = late_writers();
  if (!writers) return;
  const std::vector<Instruction>& forward = sequence_at(Phase::forward, 0).instructions;
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  std::vector<int> urgencies(exchanges_.count(), static_cast<int>(forward.size()));
  late_.resize(forward.size());
  is_late_.assign(updates.size(), false);
  std::vector<bool> is_needed(updates.size(), false);
  std::unordered_map<ValueId, ValueId> source;  // Of an alias.
  const auto source_of = [&](ValueId id) { return source.contains(id) ? source.at(id) : id; };
  std::size_t at = 0;
  for (std::size_t i = 0; i < graph_->nodes().size() && at < forward.size(); ++i) {
    const Node& node = graph_->nodes()[i];
    if (is_alias(*graph_, node)) source[node.outputs[0]] = source_of(node.inputs[0]);
    if (forward[at].node != static_cast<int>(i)) continue;
    for (const ValueId id : node.inputs) {
      const auto found = writers->find(source_of(id));
      if (found == writers->end() || is_needed[found->second]) continue;
      is_needed[found->second] = true;
      late_[at].push_back(found->second);
      for (const std::size_t exchange : updates[found->second].awaited)
        urgencies[exchange] = std::min(urgencies[exchange], static_cast<int>(at));
    }
    ++at;
  }
  exchanges_.keep_order(urgencies);
}

Executable::Sequence& Executable::sequence_of(const Node& node) {
  std::vector<Sequence>& sequences = sequences_[static_cast<std::size_t>(node.phase)];
  const std::size_t chunk = node.phase == Phase::update ? 0 : static_cast<std::size_t>(node.stage);
  if (sequences.size() <= chunk) sequences.resize(chunk + 1);
  return sequences[chunk];
}

void Executable::add_transfer(const Node& node, ValueId id) {
  HOCKET_CHECK(communicator_ != nullptr, "node {}: a stage needs a communicator", node.name);
  const Type& type = graph_->value(id).type;
  transfers_.push_back({static_cast<int>(node.attributes.integer("peer", 0)),
                        static_cast<int>(node.attributes.integer("channel", 0)),
                        plan_.locations[static_cast<std::size_t>(id)], bytes_of(type)});
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
  const Sequence& sequence = sequence_at(phase, chunk);
  await(slot, sequence.sends);  // Of the slot's last run, whose memory is written now.
  post_receives(phase, slot, chunk);
  if (phase != Phase::forward) finish_update();
  if (phase == Phase::backward) exchanges_.begin_step();
  for (std::size_t i = 0; i < sequence.instructions.size(); ++i) {
    if (late_slot_ != nullptr) {
      for (const std::size_t update : late_[i]) run_late(update);
    }
    run_instruction(sequence.instructions[i], slot, bindings);
    if (!transfers_.empty()) communicator_->links().progress();
    if (observer != nullptr) (*observer)(sequence.instructions[i].node);
  }
  if (phase == Phase::forward) finish_update();
  await(slot, sequence.receives);  // Those that only a later phase reads.
  for (const std::size_t number : sequence.receives) slot.is_posted_[number] = false;
  if (phase == Phase::update) exchanges_.wait_for_all();
}

void Executable::update_late(Slot& slot, const Bindings& bindings) {
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const auto is_there = [&](std::size_t exchange) { return exchanges_.is_done(exchange); };
    is_late_[i] = !std::all_of(updates[i].awaited.begin(), updates[i].awaited.end(), is_there);
    if (!is_late_[i]) run_instruction(updates[i], slot, bindings);
  }
  late_slot_ = &slot;
  late_bindings_ = bindings;
}

void Executable::run_late(std::size_t update) {
  if (!is_late_[update]) return;
  is_late_[update] = false;
  run_instruction(sequence_at(Phase::update, 0).instructions[update], *late_slot_, late_bindings_);
}

void Executable::finish_update() {
  if (late_slot_ == nullptr) return;
  for (std::size_t i = 0; i < is_late_.size(); ++i) run_late(i);
  late_slot_ = nullptr;
}

void Executable::run_instruction(const Instruction& instruction, Slot& slot, const Bindings& bindings) {
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    pointers_[i] = address(instruction.operands[i], slot, bindings);
    HOCKET_CHECK(pointers_[i] != nullptr, "node {}: operand {} is not bound",
                 graph_->nodes()[static_cast<std::size_t>(instruction.node)].name, i);
  }
  const Buffers operands(pointers_.data(), instruction.operands.size());
  for (const std::size_t number : instruction.awaited) exchanges_.wait(number);
  await(slot, instruction.arrivals);
  if (instruction.sent) {
    const Transfer& transfer = transfers_[*instruction.sent];
    slot.messages_[*instruction.sent] =
        communicator_->links().send(transfer.peer, transfer.channel, {operands[0], transfer.bytes});
  } else if (instruction.exchange) {
    exchanges_.start(*instruction.exchange, operands.first(instruction.inputs),
                     operands.subspan(instruction.inputs));
  } else {
    instruction.kernel->run(operands.first(instruction.inputs), operands.subspan(instruction.inputs),
                            scratch_.data());
  }
}

const Executable::Sequence& Executable::sequence_at(Phase phase, int chunk) const {
  static const Sequence kNothing;
  const std::vector<Sequence>& sequences = sequences_[static_cast<std::size_t>(phase)];
  return static_cast<std::size_t>(chunk) < sequences.size() ? sequences[static_cast<std::size_t>(chunk)]
                                                            : kNothing;
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
