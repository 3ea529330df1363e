#pragma once

#include <functional>
#include <string_view>

namespace hocket {

// Takes one line, without its end. Thread-safe and never fails.
using Log = std::function<void(std::string_view line)>;

// Writes each line to standard error in one piece, after `hocket: `.
Log log_to_stderr();

}  // namespace hocket
