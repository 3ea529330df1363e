#include "data/source.h"

#include <charconv>

#include "base/error.h"

namespace hocket {
namespace {

bool is_key(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_") == std::string_view::npos;
}

}  // namespace

DataSource parse_source(std::string_view text) {
  DataSource source;
  source.text = text;
  std::string_view head = text;
  for (std::size_t comma = head.rfind(','); comma != std::string_view::npos; comma = head.rfind(',')) {
    const std::string_view piece = head.substr(comma + 1);
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos || !is_key(piece.substr(0, equals))) break;
    const auto [at, is_new] = source.options.emplace(piece.substr(0, equals), piece.substr(equals + 1));
    if (!is_new) throw ConfigError("data '{}': option '{}' is given twice", text, at->first);
    head = head.substr(0, comma);
  }
  const std::size_t colon = head.find(':');
  source.kind = head.substr(0, colon);
  if (colon != std::string_view::npos) source.location = head.substr(colon + 1);
  return source;
}

std::string DataSource::option(std::string_view key, std::string_view fallback) const {
  const auto found = options.find(key);
  return found == options.end() ? std::string(fallback) : found->second;
}

std::int64_t DataSource::integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                                 std::int64_t high) const {
  const auto found = options.find(key);
  if (found == options.end()) return fallback;
  const std::string& digits = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < low || value > high) {
    throw ConfigError("data '{}': option '{}': expected a whole number from {} to {}, found '{}'", text, key,
                      low, high, digits);
  }
  return value;
}

bool DataSource::flag(std::string_view key, bool fallback) const {
  const auto found = options.find(key);
  if (found == options.end()) return fallback;
  if (found->second == "yes" || found->second == "true") return true;
  if (found->second == "no" || found->second == "false") return false;
  throw ConfigError("data '{}': option '{}': expected yes or no, found '{}'", text, key, found->second);
}

}  // namespace hocket
