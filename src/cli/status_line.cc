#include "cli/status_line.h"

#include <fmt/format.h>

namespace hocket {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kLineEvery{10};
constexpr std::string_view kErase = "\r\x1b[2K";

}  // namespace

void StatusLine::note(std::string_view line) {
  if (!is_quiet_) warn(line);
}

void StatusLine::warn(std::string_view message) {
  erase();
  write_message(message);
}

bool StatusLine::is_due(Clock::time_point now) const {
  const auto pause = terminal_.is_live ? Clock::duration(kRedraw) : Clock::duration(kLineEvery);
  return !is_quiet_ && now - shown_ >= pause;
}

void StatusLine::show(std::string_view line, Clock::time_point now) {
  shown_ = now;
  is_drawn_ = terminal_.is_live;
  if (is_drawn_) {
    write_raw(fmt::format("{}{}", kErase, line));
  } else {
    write_message(line);
  }
}

void StatusLine::begin(Clock::time_point now) {
  if (!terminal_.is_live) shown_ = now;
}

void StatusLine::erase() {
  if (is_drawn_) write_raw(kErase);
  is_drawn_ = false;
}

}  // namespace hocket
