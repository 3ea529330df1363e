#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "collective/group.h"

namespace hocket {

// A group whose operations run in a thread of their own, one after the other, while the caller goes on. The
// group belongs to it until it is destroyed, which waits for what has been started. Thread-safe.
class AsyncGroup {
 public:
  using Handle = std::uint64_t;  // Operations finish in the order they were started.

  // Called by the thread after each operation; must not throw.
  using Observer =
      std::function<void(const Operation& operation, std::chrono::steady_clock::time_point start)>;

  explicit AsyncGroup(Group& group, Observer observer = {});
  ~AsyncGroup();
  AsyncGroup(const AsyncGroup&) = delete;
  AsyncGroup& operator=(const AsyncGroup&) = delete;

  Handle start(const Operation& operation);  // Its buffers belong to the group until it is done.
  bool is_done(Handle handle) const;         // Also when it failed.
  void wait(Handle handle);                  // Throws what made it, or one before it, fail.

 private:
  void work();

  Group& group_;
  const Observer observer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> queue_;
  Handle started_ = 0;
  Handle finished_ = 0;
  std::exception_ptr failure_;
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace hocket
