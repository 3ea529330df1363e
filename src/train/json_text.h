#pragma once

#include <string>
#include <string_view>

namespace hocket {

// `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// The shortest text that reads back as `value`; null where it is not finite, as JSON knows no such number.
std::string json_number(double value);

}  // namespace hocket
