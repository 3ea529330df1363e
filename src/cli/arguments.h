#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// What a user typed after the name of a command. Immutable once parsed; a value type. Values that are not
// what was asked for throw ConfigError with the option's name.
class Arguments {
 public:
  bool has(std::string_view flag) const { return options_.find(flag) != options_.end(); }
  std::string text(std::string_view flag, std::string_view fallback = {}) const;  // The last one given.
  std::vector<std::string> all(std::string_view flag) const;
  std::int64_t integer(std::string_view flag, std::int64_t fallback, std::int64_t low,
                       std::int64_t high) const;
  double real(std::string_view flag, double fallback, double low, double high) const;

  const std::vector<std::string>& words() const { return words_; }  // What belongs to no option.

  const std::vector<std::string>& typed() const { return typed_; }  // All of it, as it was.

  void set_typed(std::vector<std::string> typed) { typed_ = std::move(typed); }
  void add(std::string flag, std::vector<std::string> values) {
    options_[std::move(flag)] = std::move(values);
  }
  void remove(std::string_view flag) {
    if (const auto at = options_.find(flag); at != options_.end()) options_.erase(at);
  }
  void add_word(std::string word) { words_.push_back(std::move(word)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> options_;
  std::vector<std::string> words_;
  std::vector<std::string> typed_;
};

// The number that `text` is from its first to its last character, if it is one and finite.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);

}  // namespace hocket
