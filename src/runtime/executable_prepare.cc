#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "runtime/executable.h"

// How an Executable comes to its instructions, and these to parts. Where gradients are summed in the
// background, a large weight's is made part by part, so that its first part travels while the others are
// made, and the next forward reads the weight part by part, so that the last may arrive while the first are
// read.
namespace hocket {

// Where the values of a graph come from, as far as they are known.
struct Executable::Sources {
  struct Maker {
    int node = 0;
    std::size_t at = 0;  // In its sequence.
  };
  std::unordered_map<ValueId, std::vector<std::size_t>> exchanges;  // That must have ended,
  std::unordered_map<ValueId, std::size_t> message;                 // or the message that must have arrived.
  std::unordered_map<ValueId, Maker> maker;                         // The last that has written it.

  void pass_on(ValueId from, ValueId to) {
    const auto copy = [&](auto& map) {
      if (const auto at = map.find(from); at != map.end()) {
        auto entry = at->second;
        map[to] = std::move(entry);
      }
    };
    copy(exchanges);
    copy(message);
    copy(maker);
  }
};

namespace {

constexpr std::int64_t kMostParts = 4;   // Of a weight: with each, ranks wait for each other once more.
constexpr std::int64_t kUnitRows = 128;  // Of a weight, which a part of its gradient has a multiple of.
constexpr std::int64_t kMostRows = 512;  // Of a batch: with more, gradients do not run in parts.

// Where a weight of so many elements is cut: in parts of whole units, as even as they can be and of at least
// `least` bytes.
std::vector<std::int64_t> ends_of_parts(std::int64_t count, std::int64_t unit, std::size_t least) {
  const std::int64_t units = count / unit;
  const auto most = static_cast<std::int64_t>(static_cast<std::size_t>(count) * sizeof(float) / least);
  const std::int64_t parts = std::max(std::int64_t{1}, std::min({kMostParts, units, most}));
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 1; i <= parts; ++i) ends.push_back(i == parts ? count : i * units / parts * unit);
  return ends;
}

// Of what the parts of a weight's gradient consist, in elements; 0 where it has none. By shapes alone: ranks
// must sum the same, also where their processors have kernels that run otherwise.
std::int64_t unit_of_gradient(const Graph& graph, const Node& maker) {
  const Type& type = graph.value(maker.outputs[0]).type;
  if (maker.op->name() != "matmul_dw" || type.dtype != DType::f32) return 0;
  const Shape& x = graph.value(maker.inputs[0]).type.shape;
  const Shape& weight = type.shape;
  const std::int64_t rows = x.count(0, x.rank() - 1);
  return rows <= kMostRows && weight[0] >= 2 * kUnitRows ? kUnitRows * weight.count(1, weight.rank()) : 0;
}

}  // namespace

void Executable::prepare(KernelSet kernels, std::size_t piece_bytes) {
  Sources sources;
  std::size_t scratch_bytes = 0;
  std::size_t most_operands = 0;
  for (std::size_t i = 0; i < graph_->nodes().size(); ++i) {
    const Node& node = graph_->nodes()[i];
    if (is_alias(*graph_, node)) {
      sources.pass_on(node.inputs[0], node.outputs[0]);
      continue;
    }
    Sequence& sequence = sequence_of(node);
    Instruction instruction;
    instruction.node = static_cast<int>(i);
    std::vector<std::size_t>& awaited = instruction.parts[0].awaited;
    for (const ValueId id : node.inputs) {
      instruction.operands.push_back(plan_.locations[static_cast<std::size_t>(id)]);
      if (const auto at = sources.exchanges.find(id); at != sources.exchanges.end())
        awaited.insert(awaited.end(), at->second.begin(), at->second.end());
      if (const auto at = sources.message.find(id); at != sources.message.end())
        instruction.arrivals.push_back(at->second);
    }
    instruction.inputs = instruction.operands.size();
    for (const ValueId id : node.outputs)
      instruction.operands.push_back(plan_.locations[static_cast<std::size_t>(id)]);
    if (node.op->name() == "receive") {
      sources.message[node.outputs[0]] = transfers_.size();
      sequence.receives.push_back(transfers_.size());
      add_transfer(node, node.outputs[0]);
      continue;
    }
    if (node.op->name() == "send") {
      instruction.sent = transfers_.size();
      sequence.sends.push_back(transfers_.size());
      add_transfer(node, node.inputs[0]);
    } else if (communicator_ != nullptr && CollectiveKernel::is_for(node)) {
      prepare_exchange(node, instruction, sources, piece_bytes);
    } else {
      kernels_.push_back(lower(*graph_, node, kernels));
      instruction.kernel = kernels_.back().get();
    }
    const Sources::Maker maker{instruction.node, sequence.instructions.size()};
    for (const ValueId id : node.outputs) sources.maker[id] = maker;
    for (const int updated : node.op->updates())
      sources.maker[node.inputs[static_cast<std::size_t>(updated)]] = maker;
    if (instruction.kernel != nullptr)
      scratch_bytes = std::max(scratch_bytes, instruction.kernel->scratch_bytes());
    most_operands = std::max(most_operands, instruction.operands.size());
    sequence.instructions.push_back(std::move(instruction));
  }
  scratch_ = Arena(scratch_bytes);
  pointers_.resize(most_operands);
}

// A node that communicates: by itself or, where others can run meanwhile, as exchanges that it begins. Where
// a gradient is made in parts, each of them is an exchange that begins as soon as it is made, and what lies
// beside it in its bucket another.
void Executable::prepare_exchange(const Node& node, Instruction& instruction, Sources& sources,
                                  std::size_t piece_bytes) {
  const Cuts cuts = cut_makers(node, instruction, sources, piece_bytes);
  auto owned = std::make_unique<CollectiveKernel>(*graph_, node, instruction.operands, *communicator_,
                                                  piece_bytes, cuts.places);
  const CollectiveKernel& kernel = *owned;
  kernels_.push_back(std::move(owned));
  if (!kernel.is_deferrable()) {
    instruction.kernel = &kernel;
    return;
  }
  const std::size_t first_exchange = exchanges_.count();
  std::size_t first = 0;
  Starter starter{&instruction};
  const auto add = [&](std::size_t end) {
    if (end == first) return;
    starter.part().starting.push_back(add_exchange(kernel, first, end - first, instruction));
    first = end;
  };
  for (std::size_t piece = 0; piece < kernel.pieces() && !cuts.places.empty(); ++piece) {
    const Starter next = starter_of(node, instruction, sources, cuts, kernel.place_of_piece(piece));
    const bool is_joined = next == starter || (next.is_whole && starter.is_whole);
    if (!is_joined) add(piece);
    const bool is_later = next.instruction == &instruction ||
                          (starter.instruction != &instruction && next.instruction > starter.instruction);
    if (piece == first || is_later) starter = next;
  }
  add(kernel.pieces());
  const auto arrive = [&](ValueId id, std::size_t operand) {
    std::vector<std::size_t>& awaited = sources.exchanges[id];
    awaited.clear();
    const std::size_t place = instruction.operands[operand].offset;
    for (std::size_t i = first_exchange; i < exchanges_.count(); ++i) {
      if (exchanged_[i].touches(place, place + bytes_of(graph_->value(id).type))) awaited.push_back(i);
    }
  };
  for (std::size_t i = 0; i < node.outputs.size(); ++i) arrive(node.outputs[i], node.inputs.size() + i);
  for (const int updated : node.op->updates())
    arrive(node.inputs[static_cast<std::size_t>(updated)], static_cast<std::size_t>(updated));
}

// The instruction of the node's own sequence that makes its input; null where there is none.
Executable::Instruction* Executable::maker_of(const Node& node, std::size_t input, const Sources& sources) {
  const auto found = sources.maker.find(node.inputs[input]);
  if (found == sources.maker.end()) return nullptr;
  const Node& maker = graph_->nodes()[static_cast<std::size_t>(found->second.node)];
  if (maker.phase != node.phase || maker.stage != node.stage) return nullptr;
  return &sequence_of(node).instructions[found->second.at];
}

// Cuts the large gradients that the node sums and, where they can run in parts, the instructions that make
// them.
Executable::Cuts Executable::cut_makers(const Node& node, const Instruction& instruction,
                                        const Sources& sources, std::size_t piece_bytes) {
  if (node.op->name() != "all_reduce" || node.phase != Phase::backward || !communicator_->overlaps())
    return {};
  Cuts cuts;
  bool is_cut = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Location at = instruction.operands[i];
    if (at.space != Space::gradient || at != instruction.operands[instruction.inputs + i]) return {};
    Instruction* maker = maker_of(node, i, sources);
    const std::int64_t unit = maker == nullptr ? 0 : unit_of_gradient(*graph_, node_of(*maker));
    const std::int64_t count = graph_->value(node.inputs[i]).type.shape.count();
    std::vector<std::int64_t> ends{count};
    if (unit > 0) ends = ends_of_parts(count, unit, piece_bytes);
    cuts.places.push_back(at.offset);
    for (std::size_t part = 0; part + 1 < ends.size(); ++part)
      cuts.places.push_back(at.offset + static_cast<std::size_t>(ends[part]) * sizeof(float));
    const std::int64_t least = ends.size() == 1 || maker->kernel == nullptr ? 0 : maker->kernel->part_unit();
    if (least > 0 && unit % least == 0) {
      maker->parts.resize(ends.size());
      for (std::size_t part = 0; part < ends.size(); ++part) maker->parts[part].end = ends[part];
    }
    is_cut = is_cut || ends.size() > 1;
    cuts.ends.push_back(std::move(ends));
  }
  std::sort(cuts.places.begin(), cuts.places.end());
  return is_cut ? cuts : Cuts{};
}

// Behind what the gradient at `place` can be summed: the node itself where that is not known.
Executable::Starter Executable::starter_of(const Node& node, Instruction& instruction, const Sources& sources,
                                           const Cuts& cuts, std::size_t place) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::size_t begin = instruction.operands[i].offset;
    if (place < begin || place >= begin + bytes_of(graph_->value(node.inputs[i]).type)) continue;
    Instruction* maker = maker_of(node, i, sources);
    if (maker == nullptr) break;
    const auto element = static_cast<std::int64_t>((place - begin) / sizeof(float));
    const std::vector<std::int64_t>& ends = cuts.ends[i];
    std::size_t part = 0;
    while (part + 1 < ends.size() && ends[part] <= element) ++part;
    return {maker, part, ends.size() == 1};
  }
  return {&instruction};
}

std::size_t Executable::add_exchange(const CollectiveKernel& kernel, std::size_t first, std::size_t count,
                                     const Instruction& instruction) {
  Exchanged exchanged{instruction.node, instruction.operands, instruction.inputs};
  if (count < kernel.pieces()) {
    const std::size_t last = first + count - 1;
    exchanged.begin = kernel.place_of_piece(first);
    exchanged.end = kernel.place_of_piece(last) + kernel.bytes_of_piece(last);
  }
  exchanged_.push_back(std::move(exchanged));
  return exchanges_.add(kernel, first, count);
}

// Which update writes a value. Nothing where updates cannot be late: where one reads or writes what does not
// outlive the step or what another has written, or where an exchange is awaited before all have begun.
std::optional<std::unordered_map<ValueId, std::size_t>> Executable::late_writers() const {
  const auto starts = [](const Instruction& one) {
    return std::any_of(one.parts.begin(), one.parts.end(), [](const Part& p) { return !p.starting.empty(); });
  };
  const auto awaits = [](const Instruction& one) { return !one.parts[0].awaited.empty(); };
  const auto lasts = [](Location at) { return at.space != Space::slot && at.space != Space::work; };
  const std::vector<Instruction>& forward = sequence_at(Phase::forward, 0).instructions;
  const std::vector<Instruction>& backward = sequence_at(Phase::backward, 0).instructions;
  if (chunks() != 1 || !transfers_.empty() || std::none_of(backward.begin(), backward.end(), starts) ||
      std::any_of(forward.begin(), forward.end(), starts) ||
      std::any_of(backward.begin(), backward.end(), awaits))
    return std::nullopt;
  std::unordered_map<ValueId, std::size_t> writer;
  const std::vector<Instruction>& updates = sequence_at(Phase::update, 0).instructions;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const Node& node = node_of(updates[i]);
    const auto is_written = [&](ValueId id) { return writer.contains(id); };
    if (CollectiveKernel::is_for(node) ||
        !std::all_of(updates[i].operands.begin(), updates[i].operands.end(), lasts) ||
        std::any_of(node.inputs.begin(), node.inputs.end(), is_written))
      return std::nullopt;
    for (const int updated : node.op->updates()) writer[node.inputs[static_cast<std::size_t>(updated)]] = i;
  }
  return writer;
}

void Executable::prepare_late_updates(std::size_t piece_bytes) {
  const auto writers = late_writers();
  if (!writers) return;
  std::vector<Instruction>& forward = sequences_[static_cast<std::size_t>(Phase::forward)][0].instructions;
  std::vector<Instruction>& updates = sequences_[static_cast<std::size_t>(Phase::update)][0].instructions;
  std::vector<int> urgencies(exchanges_.count(), std::numeric_limits<int>::max());
  std::vector<bool> is_needed(updates.size(), false);
  int urgency = 0;  // Of what the parts of forward need, one after the other.
  const auto need = [&](std::size_t update, Instruction* reader) {
    is_needed[update] = true;
    for (std::size_t part = 0; part < updates[update].parts.size(); ++part, ++urgency) {
      if (reader != nullptr) reader->parts[part].late.push_back(late_updates_.size());
      late_updates_.push_back({update, part});
      for (const std::size_t exchange : updates[update].parts[part].awaited)
        urgencies[exchange] = std::min(urgencies[exchange], urgency);
    }
  };
  std::unordered_map<ValueId, ValueId> source;  // Of an alias.
  const auto source_of = [&](ValueId id) { return source.contains(id) ? source.at(id) : id; };
  std::size_t at = 0;
  for (std::size_t i = 0; i < graph_->nodes().size() && at < forward.size(); ++i) {
    const Node& node = graph_->nodes()[i];
    if (is_alias(*graph_, node)) source[node.outputs[0]] = source_of(node.inputs[0]);
    if (forward[at].node != static_cast<int>(i)) continue;
    for (std::size_t operand = node.inputs.size(); operand-- > 0;) {
      const auto found = writers->find(source_of(node.inputs[operand]));
      if (found == writers->end() || is_needed[found->second]) continue;
      if (operand == 1) cut_update(forward[at], updates[found->second], piece_bytes);
      need(found->second, &forward[at]);
    }
    ++at;
  }
  for (std::size_t update = 0; update < updates.size(); ++update) {
    if (!is_needed[update]) need(update, nullptr);
  }
  exchanges_.keep_order(urgencies);
}

// In the parts in which the layer that reads the weight can read it.
void Executable::cut_update(Instruction& reader, Instruction& update, std::size_t piece_bytes) {
  const Node& layer = node_of(reader);
  const std::int64_t unit = reader.kernel == nullptr ? 0 : reader.kernel->part_unit();
  if (layer.op->name() != "matmul" || layer.attributes.integer("tb", 0) == 0 || unit == 0 ||
      update.kernel->part_unit() == 0 || unit % update.kernel->part_unit() != 0 ||
      update.kernel->scratch_bytes() > 0)
    return;
  const std::vector<std::int64_t> ends =
      ends_of_parts(graph_->value(layer.inputs[1]).type.shape.count(), unit, piece_bytes);
  const std::size_t gradient = update.operands[1].offset;
  const std::vector<std::size_t> awaited = std::move(update.parts[0].awaited);
  reader.parts.resize(ends.size());
  update.parts.assign(ends.size(), {});
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto place = [&](std::int64_t element) {
      return gradient + static_cast<std::size_t>(element) * sizeof(float);
    };
    reader.parts[i].end = update.parts[i].end = ends[i];
    for (const std::size_t exchange : awaited) {
      if (exchanged_[exchange].touches(place(i == 0 ? 0 : ends[i - 1]), place(ends[i])))
        update.parts[i].awaited.push_back(exchange);
    }
  }
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

}  // namespace hocket
