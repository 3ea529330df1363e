#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "train/options.h"

namespace hocket {

// Where a key's value is kept.
using KeyField = std::variant<bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*>;

// The numbers a key accepts, both ends included.
struct Bounds {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool without_low = false;  // Only above `low`.
};

// One setting of a run. This one description makes its flag, its key in configuration files, its environment
// variable, its line in the help and its line in a run's config.toml.
struct Key {
  std::string name;         // In configuration files: "train.lr_schedule".
  std::string placeholder;  // What the help writes for its value.
  std::string group;        // The heading it stands under in the help.
  std::string help;
  KeyField (*field)(TrainOptions& options) = nullptr;
  Bounds range{};
  std::vector<std::string_view> choices{};  // The only words accepted; empty: any.
  std::string automatic{};  // What zero or nothing stands for; then the value may also be given as "auto".

  std::string flag() const;      // "lr-schedule"
  std::string variable() const;  // "HOCKET_TRAIN__LR_SCHEDULE"
};

// Every key, in the order to show them.
std::span<const Key> all_keys();
const Key* find_key(std::string_view name);

// Sets the key's field of `options` from text. Throws ConfigError, beginning with `where`, when it is not
// such a value.
void assign(const Key& key, std::string_view value, TrainOptions& options, std::string_view where);

// The key's value in `options`, as assign() would read it back.
std::string text_of(const Key& key, const TrainOptions& options);

}  // namespace hocket
