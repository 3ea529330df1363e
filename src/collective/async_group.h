#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "collective/group.h"

namespace hocket {

// A group whose operations run in a thread of their own, one after the other, while the caller goes on. The
// group belongs to it until it is destroyed, which waits for what has been started. Thread-safe.
class AsyncGroup {
 public:
  using Handle = std::uint64_t;  // The operation's turn: they run in the order of their turns.

  // Called by the thread after each operation; must not throw.
  using Observer =
      std::function<void(const Operation& operation, std::chrono::steady_clock::time_point start)>;

  explicit AsyncGroup(Group& group, Observer observer = {});
  ~AsyncGroup();
  AsyncGroup(const AsyncGroup&) = delete;
  AsyncGroup& operator=(const AsyncGroup&) = delete;

  Handle start(const Operation& operation);  // Its buffers belong to the group until it is done.
  // Takes the next `count` turns, of which it returns the first, for operations that are started in another
  // order than they shall run in. Nothing behind a turn runs before that turn's operation is started.
  Handle reserve(std::size_t count);
  void start(const Operation& operation, Handle turn);
  bool is_done(Handle handle) const;  // Also when it failed.
  void wait(Handle handle);           // Throws what made it, or one before it, fail.

 private:
  void work();

  Group& group_;
  const Observer observer_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // From `front_` on; empty where a turn waits for its operation. Starts over, without a new allocation, when
  // all have run.
  std::vector<std::optional<Operation>> queue_;
  std::size_t front_ = 0;
  Handle next_ = 1;  // The turn of the front.
  Handle finished_ = 0;
  std::exception_ptr failure_;
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace hocket
