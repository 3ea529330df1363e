#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collective/operation.h"
#include "collective/schedule.h"
#include "net/transport.h"

namespace hocket {

// Runs schedules on a transport. Keeps its scratch memory from one run to the next. Used by one thread.
class Executor {
 public:
  explicit Executor(Transport& transport) : transport_(transport) {}

  // Carries out `schedule` on the operation's buffers; `label` is what its messages carry, but for the round.
  // Throws NetError.
  void run(const Schedule& schedule, const Operation& operation, const Label& label);

 private:
  struct Reduce;

  void run_round(const Operation& operation, const Label& label);
  void start_sends(const Operation& operation, const Label& label);
  void receive(const Action& action, const Operation& operation, const Label& label);
  void work(const Action& action, const Operation& operation);
  std::byte* address(Buffer buffer, std::size_t offset, const Operation& operation);

  Transport& transport_;
  Round round_;
  std::vector<Pending> sends_;
  std::vector<std::byte> scratch_;
};

}  // namespace hocket
