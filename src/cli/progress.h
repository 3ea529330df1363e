#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal.h"
#include "train/trainer.h"

namespace hocket {

// The one line that shows how far a run is, at most `columns` wide: what matters least is left out first.
std::string progress_line(const StepRecord& record, std::optional<double> seconds_left, int columns,
                          bool has_color);

// Shows a run on standard error: on a terminal as a line that is drawn again, elsewhere as a line every ten
// seconds. Used by one thread.
class Progress {
 public:
  Progress(Terminal terminal, bool is_quiet) : terminal_(terminal), is_quiet_(is_quiet) {}
  ~Progress() { close(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void note(std::string_view line);     // A line that stays.
  void warn(std::string_view message);  // The same, shown also when quiet.
  void update(const StepRecord& record);
  void count_step();  // A step that is not recorded.
  void update(const EvalRecord& record);
  void close();  // Takes the line away and forgets the run: another may follow.

 private:
  using Clock = std::chrono::steady_clock;

  void show(Clock::time_point now);
  void erase();
  std::optional<double> seconds_left(Clock::time_point now) const;

  Terminal terminal_;
  bool is_quiet_;
  bool is_drawn_ = false;
  std::optional<StepRecord> last_;
  std::int64_t first_step_ = 0;
  Clock::time_point first_time_;
  Clock::time_point shown_{};
};

}  // namespace hocket
