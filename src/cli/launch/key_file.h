#pragma once

#include <string>

#include "net/job.h"

namespace hocket {

// The job key from a file that only its owner can read, or from standard input ("-"): 64 hexadecimal digits.
// Throws ConfigError.
JobKey read_key_file(const std::string& path);

}  // namespace hocket
