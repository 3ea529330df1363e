#include "base/spec.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {

Spec Spec::parse(std::string_view what, std::string_view text) {
  Spec spec;
  std::istringstream parts{std::string(text)};
  std::string part;
  std::getline(parts, spec.name, ',');
  while (std::getline(parts, part, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw ConfigError("{} {}: expected key=value, found {}", what, text, part);
    spec.options.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return spec;
}

std::string Spec::text() const {
  std::string result = name;
  for (const auto& [key, value] : options) result += fmt::format(",{}={}", key, value);
  return result;
}

SpecOptions::SpecOptions(std::string_view what, const Spec& spec, Defaults defaults)
    : who_(fmt::format("{} {}", what, spec.name)), values_(std::move(defaults)) {
  std::vector<std::string_view> names;
  for (const auto& [key, value] : values_) names.push_back(key);
  for (const auto& option : spec.options) {
    const auto at = std::find_if(values_.begin(), values_.end(),
                                 [&](const auto& entry) { return entry.first == option.first; });
    if (at == values_.end())
      throw ConfigError("{} has no option {}{}", who_, option.first, did_you_mean(option.first, names));
    at->second = option.second;
  }
}

std::string SpecOptions::text(std::string_view key) const {
  for (const auto& [name, value] : values_) {
    if (name == key) return value;
  }
  HOCKET_CHECK(false, "{} declares no option {}", who_, key);
}

double SpecOptions::real(std::string_view key) const {
  const std::string value = text(key);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !(number >= 0 && number < 1e12)) {
    throw ConfigError("{}: {}={} is not a number from 0 on", who_, key, value);
  }
  return number;
}

std::int64_t SpecOptions::integer(std::string_view key) const {
  const std::vector<std::int64_t> numbers = list(key);
  if (numbers.size() != 1) throw ConfigError("{}: {}={} is not one whole number", who_, key, text(key));
  return numbers.front();
}

std::vector<std::int64_t> SpecOptions::list(std::string_view key) const {
  const std::string value = text(key);
  std::vector<std::int64_t> numbers;
  const char* at = value.data();
  const char* const end = at + value.size();
  while (true) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 0 || number > (1 << 24)) break;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != 'x') break;
    at = next + 1;
  }
  throw ConfigError("{}: {}={} is not a whole number, nor several joined by x", who_, key, value);
}

}  // namespace hocket
