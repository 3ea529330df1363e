#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"

namespace hocket {

// The sizes of `--bytes 4,64KiB`. Throws ConfigError.
std::vector<std::size_t> sizes_of(const Arguments& arguments, std::string_view fallback);

// The parts of "a,b,c".
std::vector<std::string> split_list(const std::string& text);

// The numbers of `--flag 1,2,4`. Throws ConfigError for what is no number from 1 to `most`.
std::vector<int> counts_of(const Arguments& arguments, std::string_view flag, std::string_view fallback,
                           int most);

}  // namespace hocket
