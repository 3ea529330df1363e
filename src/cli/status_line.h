#pragma once

#include <chrono>
#include <string_view>

#include "cli/terminal.h"

namespace hocket {

// A line on standard error that says how far something is: on a terminal drawn again, elsewhere written anew
// every ten seconds. Lines that stay go above it. Used by one thread.
class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;

  StatusLine(Terminal terminal, bool is_quiet) : terminal_(terminal), is_quiet_(is_quiet) {}
  ~StatusLine() { erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  const Terminal& terminal() const { return terminal_; }
  bool is_quiet() const { return is_quiet_; }

  void note(std::string_view line);     // A line that stays.
  void warn(std::string_view message);  // The same, shown also when quiet.

  bool is_due(Clock::time_point now) const;  // Whether to show() it again: never when quiet.
  void show(std::string_view line, Clock::time_point now);
  void begin(Clock::time_point now);  // What is not drawn again says nothing at first.
  void erase();

 private:
  Terminal terminal_;
  bool is_quiet_;
  bool is_drawn_ = false;
  Clock::time_point shown_{};
};

}  // namespace hocket
