#pragma once

#include <string>
#include <string_view>

namespace hocket {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads the decimal number at the start of [first, last), as in "-1.5e3"; also nan and inf. Returns where it
// ends, or null where there is none. Exact to the last bit of a double, and several times faster than
// std::from_chars on the short numbers that data files hold.
const char* parse_number(const char* first, const char* last, double& value);

// `text` is one number and nothing else.
bool parse_whole_number(std::string_view text, double& value);

// `text` in quotes for a message: cut to 24 characters, with unprintable ones replaced.
std::string in_quotes(std::string_view text);

}  // namespace hocket
