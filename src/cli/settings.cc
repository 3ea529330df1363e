#include "cli/settings.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {
namespace {

std::size_t index_of(const Key& key) { return static_cast<std::size_t>(&key - all_keys().data()); }

std::string hint_for(std::string_view name) {
  if (find_key("train." + std::string(name)) != nullptr) return fmt::format("; did you mean train.{}?", name);
  std::vector<std::string_view> names;
  for (const Key& key : all_keys()) names.push_back(key.name);
  const std::string hint = did_you_mean(name, names);
  return hint.empty() ? "; docs/CLI.md lists the keys" : hint;
}

// HOCKET_TRAIN__LR_RULE names train.lr_rule.
std::string key_name(std::string_view variable) {
  std::string lower(variable.substr(std::string_view("HOCKET_").size()));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t dot = lower.find("__");
  return fmt::format("{}.{}", lower.substr(0, dot), lower.substr(dot + 2));
}

// As TOML would have it, so that config.toml reads naturally.
struct SettingValue {
  using Result = decltype(Setting::value);
  std::string text;

  Result operator()(const bool* field) const { return *field; }
  Result operator()(const double* field) const { return *field; }
  Result operator()(const int* field) const { return std::int64_t{*field}; }
  Result operator()(const std::int64_t* field) const { return *field; }
  Result operator()(const std::uint64_t* field) const { return static_cast<std::int64_t>(*field); }
  Result operator()(const std::string*) const { return text; }
};

}  // namespace

const Key& require_key(std::string_view name, std::string_view where) {
  const Key* key = find_key(name);
  if (key == nullptr) throw ConfigError("{}: unknown key {}{}", where, name, hint_for(name));
  return *key;
}

Settings::Settings() : origins_(all_keys().size(), "default") {}

void Settings::set(const Key& key, std::string_view value, std::string_view where, std::string origin) {
  assign(key, value, options_, where);
  origins_[index_of(key)] = std::move(origin);
}

void Settings::read_environment(const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    const std::string_view variable = entry.substr(0, equals);
    const bool is_setting = variable.starts_with("HOCKET_") && variable.find("__") != std::string_view::npos;
    if (!is_setting || equals == std::string_view::npos) continue;
    const Key& key = require_key(key_name(variable), fmt::format("environment variable {}", variable));
    set(key, entry.substr(equals + 1), variable, fmt::format("environment {}", variable));
  }
}

void Settings::read_flags(const Arguments& arguments) {
  for (const Key& key : all_keys()) {
    const std::string flag = key.flag();
    if (!arguments.has(flag)) continue;
    set(key, key.placeholder.empty() ? "true" : arguments.text(flag), "--" + flag, "command line");
  }
}

void Settings::read_assignments(const Arguments& arguments) {
  for (const std::string& assignment : arguments.all("set")) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) throw ConfigError("--set: expected key=value, found '{}'", assignment);
    std::string name = assignment.substr(0, equals);
    std::replace(name.begin(), name.end(), '-', '_');
    set(require_key(name, "--set"), assignment.substr(equals + 1), "--set " + name, "command line");
  }
}

TrainOptions Settings::train_options() const {
  TrainOptions options = options_;
  options.fold = std::max(0, options.fold - 1);
  return options;
}

void Settings::require_consistent() const {
  if (options_.fold > 0 && options_.folds == 0) throw ConfigError("--fold {} needs --folds", options_.fold);
  if (options_.fold > options_.folds)
    throw ConfigError("--fold: expected 1 to {}, found {}", options_.folds, options_.fold);
  if (options_.folds == 1) throw ConfigError("--folds: expected 2 or more, found 1");
  if (options_.folds > 0 && options_.validation > 0)
    throw ConfigError("--folds and --validation exclude each other");
}

std::vector<Setting> Settings::effective() const {
  std::vector<Setting> settings;
  TrainOptions copy = options_;
  for (const Key& key : all_keys()) {
    if (key.name == "train.out") continue;
    const std::string text = text_of(key, options_);
    decltype(Setting::value) value = text;
    if (text != "auto") value = std::visit(SettingValue{text}, key.field(copy));
    settings.push_back({key.name, std::move(value), origins_[index_of(key)]});
  }
  return settings;
}

}  // namespace hocket
