#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ps/client.h"

namespace hocket {

// How a worker goes through its batches.
struct WorkerOptions {
  int worker = 0;
  int workers = 1;
  std::vector<RangeId> ranges{};  // That the model uses; empty: all.
  std::int64_t first = 0;         // The batch to begin with,
  std::int64_t batches = 0;       // and how many the run has; also ends when the servers have seen as many.
  int fetch_every = 1;            // Batches from one pull to the next,
  int push_every = 1;             // and from one push to the next: gradients add up in between.
  bool pulls_ahead = false;       // Asks for values, and has gradients on their way, while it computes.
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
  virtual std::uint64_t destination(RangeId range) = 0;                          // As in PullRequest.
  virtual void take(const PullDone& values, int slice, std::int64_t clock) = 0;  // As they were asked for.
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
  // The task is under way: asks for the values of the next, where the options say so.
  void pull_ahead(TimePoint now);
  // The gradient of the task is there: one push a range, if it is to be pushed. Slice, clock and version are
  // filled in. What a push points to stays as it is until need() is gradient again, or, where the worker
  // pulls ahead, until it is so for the second time.
  void finish(std::vector<Push> pushes, TimePoint now);

  std::int64_t clock() const;  // Batches begun.
  double waited() const;       // Seconds in need() == messages.

 private:
  enum class State : std::uint8_t { starting, waiting, computing, ended };
  // What is known of a range. Values that came are given to the memory when those of all ranges are there:
  // until then those of the batch before may be needed for a slice that is taken over.
  struct Known {
    RangeId range = 0;
    std::int64_t clock = 0;  // The batch that its values were asked for.
    bool is_awaited = false;
    bool is_for_other_slice = false;
    std::optional<PullDone> came{};
    std::int64_t version = 0;  // Of the values in the memory,
    double batches = 0;        // and where the range stood then.
  };

  void go_on(TimePoint now);
  void begin_batch(TimePoint now);
  void receive();
  bool is_awaiting() const;
  bool is_awaiting_other_slice() const;
  bool may_write_gradients() const;
  void give(Known& known);
  void pull(Known& known, int slice, std::int64_t clock, TimePoint now);
  void find_ranges();
  void pull_all(TimePoint now);
  void find_place();
  bool catches_up(TimePoint now);
  void wait_no_longer(TimePoint now);
  bool warms_up(TimePoint now);
  bool is_over() const;
  bool is_asynchronous() const { return !options_.takes_over && !options_.follows; }
  std::optional<int> lost_slice() const;
  void take_over(int slice, TimePoint now);
  void compute_own(TimePoint now);
  void compute(int slice, std::int64_t clock, TimePoint now);
  void finish_other_slice(TimePoint now);
  void finish_own_slice(TimePoint now);
  void enter(State state, TimePoint now);
  std::int64_t lowest_version() const;
  std::int64_t highest_version() const;

  WorkerOptions options_;
  Client& client_;
  WorkerMemory& memory_;
  State state_ = State::starting;
  Task task_{};
  std::int64_t clock_;
  std::vector<Known> known_{};                // By range.
  std::vector<std::int64_t> computed_for_{};  // By slice: the last batch.
  int other_slice_ = -1;                      // That is being taken over.
  bool has_place_ = false;                    // Knows where the others are: the run may have begun before it.
  bool is_settled_ = false;                   // On its batch: rows for it are asked for.
  bool is_ahead_ = false;                     // Values for the next batch are asked for.
  std::optional<TimePoint> catching_up_since_{};
  std::int64_t lagging_clock_ = 0;  // The batch that the last of the ranges is at.
  int since_fetch_ = 0;
  int since_push_ = 0;
  TimePoint since_{};
  TimePoint pulled_{};
  double waited_ = 0;
};

}  // namespace hocket
