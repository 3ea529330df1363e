#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "net/file_descriptor.h"

namespace hocket {

// Signals as something to poll: they no longer interrupt this process, nor threads started while it lives.
// Used by one thread.
class SignalsToPoll {
 public:
  explicit SignalsToPoll(std::initializer_list<int> numbers);
  ~SignalsToPoll();
  SignalsToPoll(const SignalsToPoll&) = delete;
  SignalsToPoll& operator=(const SignalsToPoll&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<int> take();  // The next one that has come, if any.

 private:
  sigset_t before_ = {};
  FileDescriptor fd_;
};

}  // namespace hocket
