#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Quantities as people read and write them.
namespace hocket {

std::string count_text(std::int64_t count);  // "421,642"
std::string bytes_text(double bytes);        // "1.69 MB"
std::string flops_text(double flops);        // "24.1 MFLOP"
std::string duration_text(double seconds);   // "0.42 s", "2 min 5 s", "1 h 2 min"
std::string percent_text(double share);      // "91.27 %"

// Reads "512MB", "2GiB", "1.5 GB" or a plain number of bytes. Throws ConfigError, beginning with `where`.
std::int64_t parse_bytes(std::string_view text, std::string_view where);

}  // namespace hocket
