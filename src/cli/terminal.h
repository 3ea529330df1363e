#pragma once

#include <string_view>

namespace hocket {

// What standard error is, as far as progress is concerned.
struct Terminal {
  bool is_live = false;  // A line on it can be drawn again.
  bool has_color = false;
  int columns = 80;
};

// Asks the descriptor, then TERM, NO_COLOR and COLUMNS.
Terminal standard_error_terminal();

// Writes results to standard output, all or nothing. Throws Error when it cannot, and ClosedOutput when the
// reader has gone, as that of `hocket models | head` does.
void write_output(std::string_view text);

struct ClosedOutput {};

// Write to standard error, the first one a whole line. They never fail: a run does not end because nobody
// reads along.
void write_message(std::string_view line);
void write_raw(std::string_view text);

}  // namespace hocket
