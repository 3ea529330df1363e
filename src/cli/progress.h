#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/status_line.h"
#include "train/trainer.h"

namespace hocket {

// The one line that shows how far a run is, at most `columns` wide: what matters least is left out first.
std::string progress_line(const StepRecord& record, std::optional<double> seconds_left, int columns,
                          bool has_color);

// Shows a run on a status line. Used by one thread.
class Progress {
 public:
  Progress(Terminal terminal, bool is_quiet) : line_(terminal, is_quiet) {}

  void note(std::string_view line) { line_.note(line); }
  void warn(std::string_view message) { line_.warn(message); }
  void update(const StepRecord& record);
  void count_step();  // A step that is not recorded.
  void update(const EvalRecord& record);
  void close();  // Takes the line away and forgets the run: another may follow.

 private:
  using Clock = StatusLine::Clock;

  void show(Clock::time_point now);
  std::optional<double> seconds_left(Clock::time_point now) const;

  StatusLine line_;
  std::optional<StepRecord> last_;
  std::int64_t first_step_ = 0;
  Clock::time_point first_time_;
};

}  // namespace hocket
