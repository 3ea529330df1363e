#include "cli/arguments.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_number<std::int64_t>(text); }

std::optional<double> parse_real(std::string_view text) {
  const std::optional<double> number = parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string Arguments::text(std::string_view flag, std::string_view fallback) const {
  const auto at = options_.find(flag);
  return at == options_.end() || at->second.empty() ? std::string(fallback) : at->second.back();
}

std::vector<std::string> Arguments::all(std::string_view flag) const {
  const auto at = options_.find(flag);
  return at == options_.end() ? std::vector<std::string>() : at->second;
}

std::int64_t Arguments::integer(std::string_view flag, std::int64_t fallback, std::int64_t low,
                                std::int64_t high) const {
  if (!has(flag)) return fallback;
  const std::optional<std::int64_t> number = parse_integer(text(flag));
  if (number && *number >= low && *number <= high) return *number;
  throw ConfigError("--{}: expected a whole number from {} to {}, found '{}'", flag, low, high, text(flag));
}

double Arguments::real(std::string_view flag, double fallback, double low, double high) const {
  if (!has(flag)) return fallback;
  const std::optional<double> number = parse_real(text(flag));
  if (number && *number >= low && *number <= high) return *number;
  throw ConfigError("--{}: expected a number from {} to {}, found '{}'", flag, low, high, text(flag));
}

}  // namespace hocket
