#include "cli/units.h"

#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "cli/arguments.h"

namespace hocket {
namespace {

constexpr std::array<std::string_view, 6> kPrefixes{"", "k", "M", "G", "T", "P"};

// Three digits and a prefix: 1.69 M, 24.1 M, 512 k.
std::string scaled(double value, std::string_view unit) {
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = prefix == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", value, decimals, kPrefixes[prefix], unit);
}

}  // namespace

std::string count_text(std::int64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool starts_group = i > (count < 0 ? 1U : 0U) && (digits.size() - i) % 3 == 0;
    if (starts_group) text += ',';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(double bytes) { return scaled(bytes, "B"); }
std::string flops_text(double flops) { return scaled(flops, "FLOP"); }

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string percent_text(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::int64_t parse_bytes(std::string_view text, std::string_view where) {
  constexpr std::array<std::pair<std::string_view, double>, 11> kUnits{{
      {"", 1},
      {"B", 1},
      {"KB", 1e3},
      {"kB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"KiB", 0x1p10},
      {"MiB", 0x1p20},
      {"GiB", 0x1p30},
      {"TiB", 0x1p40},
  }};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unit = std::min(text.find_first_not_of(' ', end), text.size());
  const std::optional<double> number = parse_real(text.substr(0, end));
  for (const auto& [name, factor] : kUnits) {
    if (number && text.substr(unit) == name && *number * factor < 0x1p62) {
      return static_cast<std::int64_t>(*number * factor);
    }
  }
  throw ConfigError("{}: expected a size such as 512MB or 2GiB, found '{}'", where, text);
}

}  // namespace hocket
