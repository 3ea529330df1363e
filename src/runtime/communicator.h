#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "collective/async_group.h"
#include "runtime/mesh_groups.h"
#include "runtime/stage_links.h"

namespace hocket {

// Carries out the collectives of a step: at once, or in a thread of its own while the step goes on. Knows
// where the time went. Used by one thread.
class Communicator {
 public:
  using Ticket = std::uint64_t;  // 0: done.
  // From the start to the end of an operation, in nanoseconds of the steady clock; called by either thread.
  using SpanObserver = std::function<void(const Operation& operation, std::int64_t start, std::int64_t end)>;
  // The same, of the caller's thread while it could only wait.
  using WaitObserver = std::function<void(std::int64_t start, std::int64_t end)>;

  // With `overlap`, what start() begins along dp runs in the background. The groups must outlive it.
  Communicator(MeshGroups& groups, bool overlap);

  MeshGroups& groups() { return groups_; }
  bool overlaps() const { return background_ != nullptr; }
  Group* gradients();  // What sums gradients along dp; null where there is no such axis.
  void run(std::string_view axis, const Operation& operation);
  // Group::sum_and_use() of gradients along dp; what `use` takes counts as computing.
  void sum_and_use(const Operation& operation, std::size_t piece, const UseOfSum& use);
  // The operation's buffers belong to it until wait() has returned.
  Ticket start(std::string_view axis, const Operation& operation);
  void wait(Ticket ticket);
  bool is_done(Ticket ticket) const;  // Also when it failed.

  // Where it overlaps: `count` tickets, in the order in which what gets them shall run along dp; the first of
  // them.
  Ticket reserve(std::size_t count);
  void start(const Operation& operation, Ticket ticket);

  // The links between the stages of a pipeline. All ranks open them at the same time, before a step runs.
  void open_links(int chunks);
  bool has_links() const { return links_ != nullptr; }
  StageLinks& links();
  void wait(StageLinks::Message& message);

  // Memory in which gradients are reduced without a copy.
  std::span<std::byte> allocate_gradients(std::size_t bytes);

  // May be called while operations are under way; afterwards the old observers are not called any more.
  void set_observers(SpanObserver spans, WaitObserver waits);
  std::int64_t busy_ns() const { return busy_ns_; }        // In collectives.
  std::int64_t exposed_ns() const { return exposed_ns_; }  // Of these, while nothing else went on.

 private:
  using Time = std::chrono::steady_clock::time_point;

  void finished(const Operation& operation, Time start);
  void waited(Time start);

  MeshGroups& groups_;
  std::mutex observing_;  // Guards span_observer_: the thread behind may be done with an operation any time.
  SpanObserver span_observer_;
  WaitObserver wait_observer_;
  std::atomic<std::int64_t> busy_ns_ = 0;
  std::int64_t exposed_ns_ = 0;
  std::unique_ptr<StageLinks> links_;
  std::unique_ptr<Group> background_group_;
  std::unique_ptr<AsyncGroup> background_;
};

}  // namespace hocket
