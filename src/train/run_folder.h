#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace hocket {

// One effective setting, named as in a configuration file ("train.lr"), and where its value came from
// ("default", "config.toml:12", "environment HOCKET_LR", "command line").
struct Setting {
  std::string key;
  std::variant<bool, std::int64_t, double, std::string> value;
  std::string origin;
};

// The settings as TOML that reads back, each value with its origin as a comment. Keys are distinct.
std::string render_config(std::span<const Setting> settings);

// The folder that one run leaves behind. Immutable; creating it throws Error where it cannot be made.
class RunFolder {
 public:
  // A new folder `parent`/<time>-<model>-<sync>, in local time; a number is added where that name is taken.
  static RunFolder create(const std::filesystem::path& parent, std::chrono::system_clock::time_point now,
                          std::string_view model, std::string_view sync);

  // The folder `path`, made where it is missing.
  explicit RunFolder(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.toml"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path summary_file() const { return path_ / "summary.json"; }
  std::filesystem::path trace_file() const { return path_ / "trace.json"; }
  std::filesystem::path report_file() const { return path_ / "report.html"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

 private:
  std::filesystem::path path_;
};

}  // namespace hocket
