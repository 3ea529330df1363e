#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace hocket {
namespace {

using Unit = std::pair<std::string_view, double>;

constexpr std::array<Unit, 8> kTimes{
    {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}}};
constexpr std::array<Unit, 12> kRates{{
    {"bit", 1.0 / 8},
    {"kbit", 1e3 / 8},
    {"Mbit", 1e6 / 8},
    {"Gbit", 1e9 / 8},
    {"Tbit", 1e12 / 8},
    {"B", 1},
    {"kB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"MiB", 0x1p20},
    {"GiB", 0x1p30},
}};

// A number from 0 on and one of the units after it, with or without a space between.
std::optional<double> find_quantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (text == unit.first) return number * unit.second;
  }
  return std::nullopt;
}

std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

}  // namespace

std::optional<double> find_seconds(std::string_view text) {
  return text == "0" ? 0 : find_quantity(text, kTimes);
}

std::optional<double> find_bytes_per_second(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  return find_quantity(text, kRates);
}

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  for (const Unit& unit : kTimes) {
    if (seconds >= 0.9995 * unit.second || unit.first == "ns") {
      return fmt::format("{} {}", three_digits(seconds / unit.second), unit.first);
    }
  }
  return "";
}

std::string rate_text(double bytes_per_second) {
  for (const Unit& unit : {Unit{"TB/s", 1e12}, Unit{"GB/s", 1e9}, Unit{"MB/s", 1e6}, Unit{"kB/s", 1e3}}) {
    if (bytes_per_second >= 0.9995 * unit.second) {
      return fmt::format("{} {}", three_digits(bytes_per_second / unit.second), unit.first);
    }
  }
  return fmt::format("{} B/s", three_digits(bytes_per_second));
}

std::string size_text(double bytes) {
  for (const Unit& unit :
       {Unit{"TiB", 0x1p40}, Unit{"GiB", 0x1p30}, Unit{"MiB", 0x1p20}, Unit{"KiB", 0x1p10}}) {
    if (bytes >= 0.9995 * unit.second) {
      return fmt::format("{} {}", three_digits(bytes / unit.second), unit.first);
    }
  }
  return fmt::format("{:.0f} B", bytes);
}

}  // namespace hocket
