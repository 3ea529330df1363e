#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/collective_kernel.h"

namespace hocket {

// The exchanges of a graph that go on while other nodes run, each some pieces of what a node communicates, by
// number. They run in the order in which they begin or, once ordered, in the one that was set, of their
// pieces: those that follow each other are one operation. Used by one thread.
class Exchanges {
 public:
  explicit Exchanges(Communicator* communicator) : communicator_(communicator) {}

  std::size_t add(const CollectiveKernel& kernel, std::size_t first, std::size_t pieces);
  std::size_t count() const { return exchanges_.size(); }
  std::size_t pieces() const { return pieces_.size(); }
  // All exchanges then begin between begin_step() and the first wait for one of them. The lower the urgency
  // of an exchange, the earlier the next step needs it.
  void keep_order(std::span<const int> urgencies);

  void begin_step();
  void start(std::size_t number, Buffers in, Buffers out);
  void wait(std::size_t number);
  bool is_done(std::size_t number) const;
  void wait_for_all();

  // The best order of all pieces as far as this rank has seen since it was last asked.
  std::vector<std::int32_t> plan_order();
  void set_order(std::span<const std::int32_t> order);  // The same on all ranks, between two steps.

 private:
  // Pieces of an exchange that are one operation.
  struct Run {
    std::size_t first = 0, count = 0;
    std::size_t turn = 0;  // Of the step's operations.
  };
  struct Exchange {
    const CollectiveKernel* kernel = nullptr;
    std::size_t first = 0, pieces = 0;
    Communicator::Ticket ticket = 0;  // Of its last operation.
    std::vector<Run> runs{};
  };
  struct Piece {
    std::size_t exchange = 0, index = 0;
    int urgency = 0;
    std::int64_t ready_ns = 0;  // The least since the last plan.
  };

  std::int64_t computed_ns() const;  // The clock without the time in which this thread only waited.

  Communicator* communicator_;
  bool is_ordered_ = false;
  std::vector<Exchange> exchanges_;
  std::vector<Piece> pieces_;
  std::size_t turns_ = 0;
  Communicator::Ticket first_ticket_ = 0;  // Of this step.
  std::int64_t began_ns_ = 0, busy_before_ = 0;
  std::int64_t busy_ns_ = 0;  // The least in a step since the last plan.
  int seen_steps_ = 0;
};

}  // namespace hocket
