#pragma once

#include <cstdint>
#include <vector>

#include "ps/client.h"

namespace hocket {

// How a worker goes through its batches.
struct WorkerOptions {
  int worker = 0;
  int workers = 1;
  std::vector<RangeId> ranges{};  // That the model uses.
  std::int64_t first = 0;         // The batch to begin with,
  std::int64_t batches = 0;       // and how many the run has; also ends when the servers have seen as many.
  int fetch_every = 1;            // Batches from one pull to the next,
  int push_every = 1;             // and from one push to the next: gradients add up in between.
  bool takes_over = false;        // Computes the slices of workers that were lost (ps:bsp).
  bool follows = false;           // Leaves out batches that the others did without it (ps:kofn).
  std::int64_t warm_start = 0;    // Batches that the first worker does alone.
};

// Where the numbers of a worker are.
class WorkerMemory {
 public:
  virtual ~WorkerMemory() = default;
  // The rows of a table that the slice needs for that batch; empty for a dense range.
  virtual Payload ids(RangeId range, int slice, std::int64_t clock) = 0;
  virtual std::uint64_t destination(RangeId range) = 0;  // As in PullRequest.
  virtual void take(const PullDone& values) = 0;
};

// What a worker does when, as a state machine without threads, sockets or kernels: pull what is due, ask for
// a gradient, push it when that is due, and so on until the run is over. Used by one thread, never blocks.
class Worker {
 public:
  enum class Need : std::uint8_t { messages, gradient, nothing };
  struct Task {
    int slice = 0;
    std::int64_t clock = 0;
    std::int64_t version = 0;  // Of the values.
    bool adds = false;         // To the gradient that is there.
    bool is_pushed = true;     // When it is done.
  };

  Worker(const WorkerOptions& options, Client& client, WorkerMemory& memory);

  void advance(TimePoint now);  // After the client was given messages or time.
  Need need() const;
  const Task& task() const;  // While need() is gradient.
  // The gradient of the task is there: one push a range, if it is to be pushed. Slice, clock and version are
  // filled in.
  void finish(std::vector<Push> pushes, TimePoint now);

  std::int64_t clock() const;  // Batches begun.
  double waited() const;       // Seconds in need() == messages.
};

}  // namespace hocket
