#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cli/launch/rank_process.h"

namespace hocket {

// A `hocket train` in a process of its own, which ends with this object: at once, and with all its workers.
// Used by one thread.
class TrialProcess {
 public:
  // `words` follow the program's name. Throws ConfigError when it cannot be started.
  explicit TrialProcess(const std::vector<std::string>& words);
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  bool wait(std::chrono::milliseconds most);  // True once it has ended.
  void interrupt();                           // Asks it to stop after the step, as Ctrl-C does.

  // Once it has ended. Exit codes are those of the program; 128 and the signal where one killed it.
  int exit_code() const;
  // Lines of its standard error, without "hocket: ".
  std::string last_words() const;                           // Its last error, or how it ended.
  std::string words_about(std::string_view subject) const;  // The first that names it; empty if none does.

 private:
  void read_output();
  void reap();

  RankProcess process_;
  std::string errors_;  // All that it wrote to standard error.
  int status_ = 0;
  bool has_ended_ = false;
};

}  // namespace hocket
