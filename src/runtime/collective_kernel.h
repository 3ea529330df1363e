#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/memory_plan.h"
#include "runtime/communicator.h"
#include "tensor/kernel.h"

namespace hocket {

// A node that communicates, prepared: the collectives of a Communicator on the node's operands.
class CollectiveKernel final : public Kernel {
 public:
  // `locations` are those of the node's operands, inputs first. Where it overlaps, sums of gradients are made
  // in pieces of about `piece_bytes`, none of which reaches over one of the `cuts`: places in the gradients'
  // memory, in order.
  CollectiveKernel(const Graph& graph, const Node& node, std::span<const Location> locations,
                   Communicator& communicator, std::size_t piece_bytes,
                   std::span<const std::size_t> cuts = {});

  static std::optional<Collective> collective_of(const Node& node);  // Nothing where it does not communicate.
  static bool is_for(const Node& node) { return collective_of(node).has_value(); }

  void run(Buffers in, Buffers out, std::byte* scratch) const override;
  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  // Whether it may go on while other nodes run: nobody writes to its operands before its results are read.
  bool is_deferrable() const { return is_deferrable_; }
  // It can be made in pieces. As run(), but only begins those from `first` on; wait for the ticket before
  // their outputs are read.
  Communicator::Ticket start(Buffers in, Buffers out, std::size_t first, std::size_t count) const;
  // The same with a ticket that was reserved, of pieces that are joined.
  void start(Buffers in, Buffers out, std::size_t first, std::size_t count,
             Communicator::Ticket ticket) const;
  std::size_t pieces() const { return parts_.size(); }
  std::size_t bytes_of_piece(std::size_t piece) const;
  std::size_t place_of_piece(std::size_t piece) const;  // Where it begins in the memory of its operand.
  bool joins(std::size_t piece) const;                  // The one before: they can be one operation.

 private:
  struct Part {
    std::size_t operand = 0;  // Where it starts; it may reach over the operands behind.
    DType dtype = DType::f32;
    std::size_t count = 0;   // Elements,
    std::size_t offset = 0;  // from this byte on,
    std::size_t place = 0;   // which is there in the operand's memory.
  };

  void cut_parts(std::size_t bytes, std::span<const std::size_t> cuts);
  Part joined(std::size_t first, std::size_t count) const;
  Operation operation(const Part& part, std::byte* data) const;
  Operation prepare(const Part& part, Buffers in, Buffers out, std::byte* scratch) const;
  std::size_t own_offset(const Part& part) const;  // Of this rank's block, in bytes.

  Communicator& communicator_;
  std::string axis_;
  AxisShare share_;
  Collective collective_ = Collective::all_reduce;
  Reduction reduction_ = Reduction::sum;
  std::vector<Part> parts_;
  std::size_t scratch_bytes_ = 0;
  bool is_deferrable_ = false;
  bool works_in_place_ = false;
  bool consumes_ = false;  // A sum may be made where its terms lie.
};

}  // namespace hocket
