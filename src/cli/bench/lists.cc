#include "cli/bench/lists.h"

#include <sstream>

#include "base/error.h"
#include "cli/units.h"

namespace hocket {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<int> counts_of(const Arguments& arguments, std::string_view flag, std::string_view fallback,
                           int most) {
  std::vector<int> counts;
  for (const std::string& part : split_list(arguments.text(flag, fallback))) {
    const std::optional<std::int64_t> count = parse_integer(part);
    if (!count || *count < 1 || *count > most)
      throw ConfigError("bench: --{} {} is not a number from 1 to {}", flag, part, most);
    counts.push_back(static_cast<int>(*count));
  }
  return counts;
}

std::vector<std::size_t> sizes_of(const Arguments& arguments, std::string_view fallback) {
  std::vector<std::size_t> sizes;
  for (const std::string& part : split_list(arguments.text("bytes", fallback))) {
    sizes.push_back(static_cast<std::size_t>(parse_bytes(part, "bench: --bytes")));
  }
  return sizes;
}

}  // namespace hocket
