#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/units.h"

namespace hocket {
namespace {

constexpr int kSmallestBar = 10;
constexpr int kLargestBar = 30;

std::string bar(double share, int width) {
  const int inner = width - 2;
  const int done = std::clamp(static_cast<int>(share * inner), 0, inner);
  std::string text(static_cast<std::size_t>(inner), ' ');
  std::fill_n(text.begin(), done, '=');
  if (done < inner) text[static_cast<std::size_t>(done)] = '>';
  return "[" + text + "]";
}

// To the second: what comes after is a guess.
std::string remaining_text(double seconds) {
  return seconds < 59.5 ? fmt::format("{:.0f} s", seconds) : duration_text(seconds);
}

// What a line says, from what matters most to what matters least.
std::vector<std::string> parts_of(const StepRecord& record, std::optional<double> seconds_left) {
  std::vector<std::string> parts{fmt::format("step {}/{}", record.step, record.total_steps),
                                 fmt::format("loss {:.4f}", record.loss)};
  if (record.is_emulated) parts.emplace_back("emulated");
  if (seconds_left) parts.push_back(remaining_text(*seconds_left) + " left");
  parts.push_back(fmt::format("epoch {:.2f}", record.epoch));
  parts.push_back(count_text(static_cast<std::int64_t>(record.samples_per_second)) + " samples/s");
  parts.push_back(fmt::format("lr {:.4g}", record.learning_rate));
  return parts;
}

std::string joined_within(const std::vector<std::string>& parts, std::size_t columns) {
  std::string line = parts.front();
  for (std::size_t i = 1; i < parts.size() && line.size() + 2 + parts[i].size() <= columns; ++i)
    line += "  " + parts[i];
  return line.substr(0, columns);
}

}  // namespace

std::string progress_line(const StepRecord& record, std::optional<double> seconds_left, int columns,
                          bool has_color) {
  std::string text =
      joined_within(parts_of(record, seconds_left), static_cast<std::size_t>(std::max(columns - 1, 1)));
  const int room = std::min(columns - 2 - static_cast<int>(text.size()), kLargestBar);
  if (room < kSmallestBar) return text;
  const double share =
      static_cast<double>(record.step) / static_cast<double>(std::max<std::int64_t>(1, record.total_steps));
  return fmt::format("{}{}{} {}", has_color ? "\x1b[36m" : "", bar(share, room), has_color ? "\x1b[0m" : "",
                     text);
}

void Progress::update(const StepRecord& record) {
  const Clock::time_point now = Clock::now();
  if (!last_) {
    first_step_ = record.step;
    first_time_ = now;
    line_.begin(now);
  }
  last_ = record;
  show(now);
}

void Progress::count_step() {
  if (!last_ || line_.is_quiet() || !line_.terminal().is_live) return;
  ++last_->step;
  show(Clock::now());
}

void Progress::update(const EvalRecord& record) {
  const std::string accuracy = record.accuracy ? "  accuracy " + percent_text(*record.accuracy) : "";
  note(fmt::format("epoch {:.2f}  step {}  test loss {:.4f}{}  after {}", record.epoch, record.step,
                   record.loss, accuracy, duration_text(record.seconds)));
}

void Progress::show(Clock::time_point now) {
  if (!line_.is_due(now)) return;
  const Terminal& terminal = line_.terminal();
  line_.show(terminal.is_live ? progress_line(*last_, seconds_left(now), terminal.columns, terminal.has_color)
                              : joined_within(parts_of(*last_, seconds_left(now)), 1000),
             now);
}

void Progress::close() {
  line_.erase();
  last_.reset();
}

std::optional<double> Progress::seconds_left(Clock::time_point now) const {
  const std::int64_t steps = last_->step - first_step_;
  if (steps <= 0) return std::nullopt;
  const double elapsed = std::chrono::duration<double>(now - first_time_).count();
  return elapsed / static_cast<double>(steps) *
         static_cast<double>(std::max<std::int64_t>(0, last_->total_steps - last_->step));
}

}  // namespace hocket
