#include "runtime/collective_kernel.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

bool is_read_in_its_phase(const Graph& graph, const Node& node) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& reader) {
    return reader.phase == node.phase &&
           std::find(reader.inputs.begin(), reader.inputs.end(), node.outputs[0]) != reader.inputs.end();
  });
}

}  // namespace

std::optional<Collective> CollectiveKernel::collective_of(const Node& node) {
  const std::string_view op = node.op->name();
  if (op == "all_reduce") return Collective::all_reduce;
  if (op == "all_gather" || op == "gather_blocks") return Collective::all_gather;
  if (op == "reduce_scatter") return Collective::reduce_scatter;
  if (op == "all_to_all") return Collective::all_to_all;
  return std::nullopt;
}

CollectiveKernel::CollectiveKernel(const Graph& graph, const Node& node, std::span<const Location> locations,
                                   Communicator& communicator, std::size_t piece_bytes,
                                   std::span<const std::size_t> cuts)
    : communicator_(communicator),
      axis_(node.attributes.text("axis", "")),
      share_(communicator.groups().share(axis_)),
      collective_(*collective_of(node)),
      reduction_(node.attributes.text("reduction", "sum") == "max" ? Reduction::max : Reduction::sum) {
  HOCKET_CHECK(node.attributes.integer("ranks", 0) == share_.count, "node {}: axis {} has {} ranks",
               node.name, axis_, share_.count);
  works_in_place_ = node.op->name() == "gather_blocks";
  consumes_ = node.attributes.has("index");
  const std::size_t inputs = node.inputs.size();
  is_deferrable_ = collective_ == Collective::all_reduce;
  std::size_t end = 0;  // Of the last operand.
  for (std::size_t i = 0; i < inputs; ++i) {
    const bool grows = collective_ == Collective::all_gather && !works_in_place_;
    const Type& type = graph.value(grows ? node.outputs[i] : node.inputs[i]).type;
    const auto count = static_cast<std::size_t>(type.shape.count());
    const Location at = locations[i];
    is_deferrable_ = is_deferrable_ && at == locations[inputs + i] && at.space == Space::gradient;
    // Gradients that lie side by side are one vector of whole lines.
    const std::size_t line = kAlignment / size_of(type.dtype), lines = (count + line - 1) / line * line;
    if (is_deferrable_ && i > 0 && at.offset == end && type.dtype == parts_.back().dtype) {
      parts_.back().count += lines;
    } else {
      parts_.push_back({i, type.dtype, is_deferrable_ ? lines : count, 0, at.offset});
    }
    end = at.offset + lines * size_of(type.dtype);
    if (collective_ == Collective::reduce_scatter && !consumes_) scratch_bytes_ = count * size_of(type.dtype);
  }
  if (is_deferrable_ && communicator.overlaps() && axis_ == "dp") cut_parts(piece_bytes, cuts);
  if (collective_ == Collective::all_gather) is_deferrable_ = locations[0].space == Space::parameter;
  if (collective_ == Collective::reduce_scatter)
    is_deferrable_ = locations[1].space == Space::gradient && locations[0].space == Space::gradient;
  // Compressed gradients: what is sent has been copied to where the result will be, which is kept until then.
  const bool makes_copy = collective_ == Collective::all_reduce || collective_ == Collective::all_gather;
  if (makes_copy && !works_in_place_ && node.phase == Phase::backward && !is_read_in_its_phase(graph, node))
    is_deferrable_ = true;
}

// In pieces of at least so many bytes, so that nothing keeps what is more urgent waiting; of whole lines for
// every rank but at the cuts.
void CollectiveKernel::cut_parts(std::size_t bytes, std::span<const std::size_t> cuts) {
  std::vector<Part> cut;
  const auto add = [&](const Part& part, std::size_t begin, std::size_t count) {
    const std::size_t size = size_of(part.dtype);
    const std::size_t line = kAlignment / size * static_cast<std::size_t>(share_.count);
    const std::size_t pieces = std::max<std::size_t>(1, count * size / bytes);
    const std::size_t piece = (count / pieces + line - 1) / line * line;
    for (const std::size_t end = begin + count; begin < end; begin += piece)
      cut.push_back(
          {part.operand, part.dtype, std::min(piece, end - begin), begin * size, part.place + begin * size});
  };
  for (const Part& part : parts_) {
    std::size_t begin = 0;
    for (const std::size_t at : cuts) {
      if (at <= part.place || at >= part.place + part.count * size_of(part.dtype)) continue;
      const std::size_t end = (at - part.place) / size_of(part.dtype);
      add(part, begin, end - begin);
      begin = end;
    }
    add(part, begin, part.count - begin);
  }
  parts_ = std::move(cut);
}

std::size_t CollectiveKernel::bytes_of_piece(std::size_t piece) const {
  return parts_[piece].count * size_of(parts_[piece].dtype);
}

std::size_t CollectiveKernel::place_of_piece(std::size_t piece) const { return parts_[piece].place; }

bool CollectiveKernel::joins(std::size_t piece) const {
  return piece > 0 && parts_[piece].operand == parts_[piece - 1].operand;
}

Operation CollectiveKernel::operation(const Part& part, std::byte* data) const {
  Operation operation;
  operation.collective = collective_;
  operation.reduction = reduction_;
  operation.dtype = part.dtype;
  operation.data = data;
  operation.count = part.count;
  return operation;
}

Operation CollectiveKernel::prepare(const Part& part, Buffers in, Buffers out, std::byte* scratch) const {
  const std::size_t bytes = part.count * size_of(part.dtype);
  std::byte* source = in[part.operand] + part.offset;
  std::byte* target = works_in_place_ ? source : out[part.operand] + part.offset;
  Operation work = operation(part, target);
  switch (collective_) {
    case Collective::all_gather:
      if (!works_in_place_)
        std::memcpy(target + own_offset(part), source, bytes / static_cast<std::size_t>(share_.count));
      break;
    case Collective::all_to_all: work.input = source; break;
    case Collective::reduce_scatter:
      work.data = consumes_ ? source : scratch;
      if (!consumes_) std::memcpy(scratch, source, bytes);
      break;
    default:
      if (source != target) std::memcpy(target, source, bytes);
  }
  return work;
}

std::size_t CollectiveKernel::own_offset(const Part& part) const {
  return part.count / static_cast<std::size_t>(share_.count) * static_cast<std::size_t>(share_.index) *
         size_of(part.dtype);
}

void CollectiveKernel::run(Buffers in, Buffers out, std::byte* scratch) const {
  for (const Part& part : parts_) {
    const Operation work = prepare(part, in, out, scratch);
    communicator_.run(axis_, work);
    if (collective_ != Collective::reduce_scatter) continue;
    const std::byte* own = work.data + own_offset(part);
    if (own != out[0])
      std::memcpy(out[0], own, part.count / static_cast<std::size_t>(share_.count) * size_of(part.dtype));
  }
}

Communicator::Ticket CollectiveKernel::start(Buffers in, Buffers out, std::size_t first,
                                             std::size_t count) const {
  Communicator::Ticket ticket = 0;
  for (std::size_t end = first; count > 0; count -= end - first, first = end) {
    for (end = first + 1; end < first + count && joins(end);) ++end;
    ticket = communicator_.start(axis_, prepare(joined(first, end - first), in, out, nullptr));
  }
  return ticket;
}

CollectiveKernel::Part CollectiveKernel::joined(std::size_t first, std::size_t count) const {
  Part whole = parts_[first];
  for (std::size_t i = first + 1; i < first + count; ++i) whole.count += parts_[i].count;
  return whole;
}

void CollectiveKernel::start(Buffers in, Buffers out, std::size_t first, std::size_t count,
                             Communicator::Ticket ticket) const {
  communicator_.start(prepare(joined(first, count), in, out, nullptr), ticket);
}

}  // namespace hocket
