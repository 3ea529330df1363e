#pragma once

#include <sys/types.h>

#include <string>

#include "net/file_descriptor.h"

namespace hocket {

// Ends, with SIGKILL, every process of this user whose environment holds `mark`, until there is none.
void end_marked_processes(const std::string& mark);

// A small process that outlives this one by a moment: when this process ends, however it does, it ends every
// process that carries `mark`. To be made before any thread. Destroying it does the same and waits.
class Guard {
 public:
  explicit Guard(const std::string& mark);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  FileDescriptor lease_;
  pid_t pid_ = -1;
};

}  // namespace hocket
