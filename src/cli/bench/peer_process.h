#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// The processors that this process may run on, in ascending order.
std::vector<int> usable_processors();
// From now on the calling thread runs on these alone.
void pin_to(const std::vector<int>& processors);

// A child process that reads lines from its standard input and answers on its standard output, pinned to some
// processors. The calling process must have a single thread when it starts one. Used by one thread; the child
// ends with the object.
class PeerProcess {
 public:
  // Runs `body` in the child, which ends when it returns.
  PeerProcess(const std::vector<int>& processors, const std::function<void()>& body);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  void send(std::string_view line);
  // The next line; nothing when the child has ended. Throws Error after `timeout_seconds`.
  std::optional<std::string> receive(int timeout_seconds);

 private:
  int to_child_ = -1;
  int from_child_ = -1;
  pid_t child_ = -1;
  std::string unread_;
};

// For a child: answers every number of steps that it reads with the seconds that `run` says they took.
void serve_steps(const std::function<double(int steps)>& run);

}  // namespace hocket
