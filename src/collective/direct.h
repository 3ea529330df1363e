#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collective/operation.h"
#include "collective/plan.h"
#include "net/shared_memory.h"
#include "net/transport.h"

namespace hocket {

using UseOfSum = std::function<void(Range summed)>;

// Collectives between ranks that share memory, without messages: each rank says on the group's board where
// its data lies, waits for the others, and reads (and for sums writes) the peers' memory itself. Rank r makes
// block r of a sum, in rank order. Small vectors travel on the board itself, in one phase. Data that lies
// outside the arena is staged there. The transport's counters get what this rank moves itself: over all ranks
// as much as `sharded` sends (small sums: `exchange`). Every operation waits for all ranks. Used by one
// thread.
class Direct {
 public:
  Direct(Transport& transport, SharedMemory& memory);

  void run(const Plan& plan, const Operation& operation, const Label& label);

  // As Group::sum_and_use() says; `operation` is a reduce_scatter.
  void sum_and_use(const Operation& operation, std::size_t piece, const UseOfSum& use, const Label& label);

  // What this rank sums there, of so many elements.
  Range own_lines(std::size_t count, std::size_t element_bytes) const;

  // Whether it is a sum that travels on the board.
  bool is_small(const Operation& operation) const;

 private:
  struct Slot;

  Slot& slot(Rank rank, std::uint64_t sequence) const;
  std::byte* payload(Rank rank, std::uint64_t sequence) const;

  void publish(const Label& label, std::uint64_t place);
  void await(Rank rank, const Label& label);
  void await_all(const Label& label);
  void meet(const Label& label);  // publish and await_all: nobody leaves before all have come.
  void reach(const Label& label, std::uint64_t place);  // The same, and then peers_ is where all have theirs.

  void run_small(const Operation& operation, const Label& label);
  void run_large(const Plan& plan, const Operation& operation, const Label& label);
  void move(const Plan& plan, const Operation& operation);
  void all_reduce(const Operation& operation);
  void reduce(const Operation& operation);
  void reduce_scatter(const Operation& operation, Range mine);
  void pull(const Operation& operation, const Pull& pull);
  std::byte* stage(std::size_t bytes);
  void count(std::size_t messages, std::size_t bytes);

  Transport& transport_;
  SharedMemory& memory_;
  std::uint64_t sequence_ = 0;  // Of the last publication.
  std::size_t slot_bytes_;
  std::size_t small_bytes_;
  std::span<std::byte> stage_;
  std::vector<std::byte*> peers_;          // Each rank's data, as this rank sees it.
  std::vector<const std::byte*> sources_;  // As many as ranks.
  std::vector<std::byte*> targets_;
};

}  // namespace hocket
