#pragma once

#include <sys/eventfd.h>

#include <cstdint>

#include "net/file_descriptor.h"

namespace hocket {

// Wakes a thread that sleeps in poll(2). Thread-safe.
class Wake {
 public:
  Wake() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  int fd() const { return event_.get(); }  // Readable once signalled, until cleared.
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof(one));
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read_bytes = ::read(event_.get(), &count, sizeof(count));
  }

 private:
  FileDescriptor event_;
};

}  // namespace hocket
