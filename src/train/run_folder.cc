#include "train/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <vector>

#include "base/error.h"
#include "train/file_system.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// A part of a file name: short, and without anything a shell or a path would take as its own.
std::string file_name_part(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string part(text.substr(0, kLongest));
  std::replace_if(
      part.begin(), part.end(), [](char c) { return !is_plain(c) && c != '.' && c != '='; }, '-');
  return part.empty() ? "none" : part;
}

std::string local_time(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string toml_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), is_plain) ? std::string(key) : toml_string(key);
}

struct TomlValue {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    const std::string text = fmt::format("{}", value);
    const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return is_whole ? text + ".0" : text;  // A whole number would read back as an integer.
  }
  std::string operator()(const std::string& value) const { return toml_string(value); }
};

std::string comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      ' ');
  return text;
}

}  // namespace

std::string render_config(std::span<const Setting> settings) {
  std::vector<std::string_view> tables{
      ""};  // In order of first use; the keys without a table must come first.
  std::map<std::string_view, std::string> lines;
  for (const Setting& setting : settings) {
    const std::string_view key = setting.key;
    const std::size_t dot = key.rfind('.');
    const std::string_view table = dot == std::string_view::npos ? "" : key.substr(0, dot);
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
    lines[table] +=
        fmt::format("{} = {}  # {}\n", toml_key(dot == std::string_view::npos ? key : key.substr(dot + 1)),
                    std::visit(TomlValue{}, setting.value), comment(setting.origin));
  }
  std::string text;
  for (const std::string_view table : tables) {
    if (!table.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", table);
    text += lines[table];
  }
  return text;
}

RunFolder RunFolder::create(const fs::path& parent, std::chrono::system_clock::time_point now,
                            std::string_view model, std::string_view sync) {
  posix_file_system().create_directories(parent);
  const std::string name =
      fmt::format("{}-{}-{}", local_time(now), file_name_part(model), file_name_part(sync));
  for (int number = 1;; ++number) {
    fs::path path = parent / (number == 1 ? name : fmt::format("{}-{}", name, number));
    std::error_code error;
    if (fs::create_directory(path, error)) return RunFolder(std::move(path));
    if (error) throw Error("cannot create {}: {}", path.string(), error.message());
  }
}

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  posix_file_system().create_directories(path_);
}

}  // namespace hocket
