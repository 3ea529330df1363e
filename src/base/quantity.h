#pragma once

#include <optional>
#include <string>
#include <string_view>

// Times and rates as people write them in files and options, and as they read them in tables.
namespace hocket {

std::optional<double> find_seconds(std::string_view text);  // "20us", "1.5 ms", "2s", "10m", "1h", "0"
std::optional<double> find_bytes_per_second(std::string_view text);  // "10Gbit", "1.2 GB/s", "800MiB/s"

std::string seconds_text(double seconds);        // "20.0 us", "1.50 ms", "2.00 s"
std::string rate_text(double bytes_per_second);  // "1.25 GB/s"
std::string size_text(double bytes);             // "512 B", "1.00 MiB"

}  // namespace hocket
