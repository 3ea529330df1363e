#include "runtime/exchange.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

std::optional<Collective> collective_of(const Node& node) {
  const std::string_view op = node.op->name();
  if (op == "all_reduce") return Collective::all_reduce;
  if (op == "all_gather") return Collective::all_gather;
  if (op == "reduce_scatter") return Collective::reduce_scatter;
  if (op == "all_to_all") return Collective::all_to_all;
  return std::nullopt;
}

}  // namespace

bool Exchange::is_for(const Node& node) { return collective_of(node).has_value(); }

Exchange::Exchange(const Graph& graph, const Node& node, std::span<const Location> locations,
                   Communicator& communicator)
    : communicator_(communicator),
      axis_(node.attributes.text("axis", "")),
      share_(communicator.groups().share(axis_)),
      collective_(*collective_of(node)),
      reduction_(node.attributes.text("reduction", "sum") == "max" ? Reduction::max : Reduction::sum) {
  HOCKET_CHECK(node.attributes.integer("ranks", 0) == share_.count, "node {}: axis {} has {} ranks",
               node.name, axis_, share_.count);
  const std::size_t inputs = node.inputs.size();
  is_deferrable_ = collective_ == Collective::all_reduce;
  std::size_t end = 0;  // Of the last operand.
  for (std::size_t i = 0; i < inputs; ++i) {
    const Type& type =
        graph.value(collective_ == Collective::all_gather ? node.outputs[i] : node.inputs[i]).type;
    const auto count = static_cast<std::size_t>(type.shape.count());
    const Location at = locations[i];
    const bool is_in_place =
        at.space == locations[inputs + i].space && at.offset == locations[inputs + i].offset;
    is_deferrable_ = is_deferrable_ && is_in_place && at.space == Space::gradient;
    // Gradients that lie side by side are one vector, with the gaps between them.
    if (is_deferrable_ && i > 0 && at.offset == align_up(end) && type.dtype == parts_.back().dtype) {
      parts_.back().count += (at.offset - end) / size_of(type.dtype) + count;
    } else {
      parts_.push_back({i, type.dtype, count});
    }
    end = at.offset + count * size_of(type.dtype);
    if (collective_ == Collective::reduce_scatter) scratch_bytes_ = count * size_of(type.dtype);
  }
}

Operation Exchange::operation(const Part& part, std::byte* data) const {
  Operation operation;
  operation.collective = collective_;
  operation.reduction = reduction_;
  operation.dtype = part.dtype;
  operation.data = data;
  operation.count = part.count;
  return operation;
}

void Exchange::run(Buffers in, Buffers out, std::byte* scratch) const {
  for (const Part& part : parts_) {
    const std::size_t bytes = part.count * size_of(part.dtype),
                      block = bytes / static_cast<std::size_t>(share_.count);
    const std::size_t own = block * static_cast<std::size_t>(share_.index);
    const std::byte* source = in[part.operand];
    std::byte* target = out[part.operand];
    Operation work = operation(part, target);
    switch (collective_) {
      case Collective::all_gather: std::memmove(target + own, source, block); break;
      case Collective::all_to_all: work.input = source; break;
      case Collective::reduce_scatter:
        std::memcpy(scratch, source, bytes);
        work.data = scratch;
        break;
      default:
        if (source != target) std::memcpy(target, source, bytes);
    }
    communicator_.run(axis_, work);
    if (collective_ == Collective::reduce_scatter) std::memcpy(target, scratch + own, block);
  }
}

Communicator::Ticket Exchange::start(Buffers in) const {
  Communicator::Ticket ticket = 0;
  for (const Part& part : parts_) ticket = communicator_.start(axis_, operation(part, in[part.operand]));
  return ticket;
}

}  // namespace hocket
