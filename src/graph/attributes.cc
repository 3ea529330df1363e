#include "graph/attributes.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

std::string print(const Attribute& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* list = std::get_if<IntList>(&value)) return fmt::format("[{}]", fmt::join(*list, ","));
  const std::string real = fmt::format("{}", std::get<double>(value));
  return real.find_first_of(".einf") == std::string::npos ? real + ".0" : real;
}

template <typename T>
T as(std::string_view key, const Attribute& value, const char* kind) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  throw ConfigError("attribute {}={} is not {}", key, print(value), kind);
}

}  // namespace

Attributes::Attributes(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

const Attribute* Attributes::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.first == key) return &entry.second;
  }
  return nullptr;
}

std::int64_t Attributes::integer(std::string_view key, std::int64_t otherwise) const {
  const Attribute* value = find(key);
  return value == nullptr ? otherwise : as<std::int64_t>(key, *value, "a whole number");
}

double Attributes::real(std::string_view key, double otherwise) const {
  const Attribute* value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  return as<double>(key, *value, "a number");
}

std::string Attributes::text(std::string_view key, std::string_view otherwise) const {
  const Attribute* value = find(key);
  return value == nullptr ? std::string(otherwise) : as<std::string>(key, *value, "a word");
}

IntList Attributes::list(std::string_view key, IntList otherwise) const {
  const Attribute* value = find(key);
  return value == nullptr ? std::move(otherwise) : as<IntList>(key, *value, "a list of whole numbers");
}

void Attributes::set(std::string_view key, Attribute value) {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), key,
                       [](const Entry& entry, std::string_view name) { return entry.first < name; });
  if (at != entries_.end() && at->first == key) {
    at->second = std::move(value);
  } else {
    entries_.insert(at, {std::string(key), std::move(value)});
  }
}

void Attributes::erase(std::string_view key) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.first == key; });
}

std::string to_string(const Attributes& attributes) {
  std::string text;
  for (const auto& [key, value] : attributes.entries()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, print(value));
  }
  return text;
}

}  // namespace hocket
