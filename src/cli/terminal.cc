#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.h"
#include "cli/arguments.h"

namespace hocket {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int columns_of(int descriptor) {
  if (const auto given = parse_integer(variable("COLUMNS")); given && *given > 0) {
    return static_cast<int>(std::min<std::int64_t>(*given, 1000));
  }
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// False with errno set when not all of it could be written.
bool try_write(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Terminal standard_error_terminal() {
  Terminal terminal;
  const std::string kind = variable("TERM");
  terminal.is_live = ::isatty(STDERR_FILENO) == 1 && !kind.empty() && kind != "dumb";
  terminal.has_color = terminal.is_live && variable("NO_COLOR").empty();
  terminal.columns = columns_of(STDERR_FILENO);
  return terminal;
}

void write_output(std::string_view text) {
  if (try_write(STDOUT_FILENO, text)) return;
  if (errno == EPIPE) throw ClosedOutput();
  throw Error("standard output: {}", std::strerror(errno));
}

void write_raw(std::string_view text) { static_cast<void>(try_write(STDERR_FILENO, text)); }

void write_message(std::string_view line) { write_raw(std::string(line) + '\n'); }

}  // namespace hocket
