#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hocket {

using IntList = std::vector<std::int64_t>;
using Attribute = std::variant<std::int64_t, double, std::string, IntList>;

// The constants of a node, such as stride=2 or shape=[-1,784]: few, ordered by name. A value type.
// Reading one that is absent gives the caller's default; reading one of another kind throws ConfigError.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  double real(std::string_view key, double otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  IntList list(std::string_view key, IntList otherwise = {}) const;

  void set(std::string_view key, Attribute value);
  void erase(std::string_view key);

  const std::vector<Entry>& entries() const { return entries_; }
  bool operator==(const Attributes&) const = default;

 private:
  const Attribute* find(std::string_view key) const;

  std::vector<Entry> entries_;
};

// As in "padding=1 stride=2".
std::string to_string(const Attributes& attributes);

}  // namespace hocket
