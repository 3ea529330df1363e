#include "net/log.h"

#include <unistd.h>

#include <string>

namespace hocket {

Log log_to_stderr() {
  return [](std::string_view line) {
    std::string text = "hocket: ";
    text += line;
    text += '\n';
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  };
}

}  // namespace hocket
