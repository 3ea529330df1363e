#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "net/file_descriptor.h"

namespace hocket {

struct ProcessOptions {
  std::vector<std::string> words;        // The program, found by PATH, and its arguments.
  std::vector<std::string> environment;  // All of it.
  std::string folder = ".";
  int inherited_fd = -1;      // Stays open in the program, under the same number.
  bool pipes_output = false;  // Else it writes to this process's standard output.
  int output_fd = -1;         // Both outputs go there instead.
  bool inherits_input = false;
  std::string input;  // Else a short text on its standard input, or nothing.
};

// A started program in a process group of its own, which dies with the thread that started it.
struct RankProcess {
  pid_t pid = -1;
  FileDescriptor exit;  // Readable once it has ended (a pidfd).
  FileDescriptor out;   // Only when piped.
  FileDescriptor err;
};

// Throws ConfigError when the program cannot be started.
RankProcess start_process(const ProcessOptions& options);

// "was killed by signal 9 (Killed)" or "ended with exit code 3".
std::string exit_text(int status);

}  // namespace hocket
