// How the values of keys are read from text and written back.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/keys.h"

namespace hocket {
namespace {

std::string describe(const Bounds& range, std::string_view kind) {
  if (range.without_low) return fmt::format("a {} above {}", kind, range.low);
  if (range.high == std::numeric_limits<double>::infinity())
    return fmt::format("a {} from {} on", kind, range.low);
  return fmt::format("a {} from {} to {}", kind, range.low, range.high);
}

bool contains(const Bounds& range, double value) {
  return value <= range.high && (range.without_low ? value > range.low : value >= range.low);
}

// Reads one value into the member that a visitor points to.
struct Read {
  const Key& key;
  std::string_view value;
  std::string_view where;

  [[noreturn]] void refuse(const std::string& expected, const std::string& hint = {}) const {
    throw ConfigError("{}: expected {}, found '{}'{}", where, expected, value, hint);
  }

  void operator()(bool* field) const {
    if (value != "true" && value != "false") refuse("true or false");
    *field = value == "true";
  }

  void operator()(std::string* field) const {
    if (!key.choices.empty() &&
        std::find(key.choices.begin(), key.choices.end(), value) == key.choices.end()) {
      refuse(fmt::format("{}", fmt::join(key.choices, ", ")), did_you_mean(value, key.choices));
    }
    if (value.empty() && key.automatic.empty()) refuse("a name");
    *field = value;
  }

  void operator()(double* field) const {
    const std::optional<double> number = parse_real(value);
    if (!number || !contains(key.range, *number)) refuse(describe(key.range, "number"));
    *field = *number;
  }

  template <typename Integer>
  void operator()(Integer* field) const {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *field);
    if (error != std::errc() || end != value.data() + value.size() ||
        !contains(key.range, static_cast<double>(*field))) {
      refuse(describe(key.range, "whole number"));
    }
  }
};

struct Clear {
  template <typename Value>
  void operator()(Value* field) const {
    *field = Value();
  }
};

struct Write {
  std::string operator()(const bool* field) const { return *field ? "true" : "false"; }
  std::string operator()(const std::string* field) const { return *field; }
  template <typename Number>
  std::string operator()(const Number* field) const {
    return fmt::format("{}", *field);
  }
};

}  // namespace

void assign(const Key& key, std::string_view value, TrainOptions& options, std::string_view where) {
  if (value == "auto" && !key.automatic.empty()) {
    std::visit(Clear(), key.field(options));
  } else {
    std::visit(Read{key, value, where}, key.field(options));
  }
}

std::string text_of(const Key& key, const TrainOptions& options) {
  TrainOptions copy = options;
  const std::string text = std::visit(Write(), key.field(copy));
  return !key.automatic.empty() && (text.empty() || text == "0") ? "auto" : text;
}

}  // namespace hocket
