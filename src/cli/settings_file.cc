// Reads settings from TOML. The parser's own messages lose their second lines: an error is one line.
#include <toml++/toml.h>

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/settings.h"

namespace hocket {
namespace {

std::string place(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

std::string read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw ConfigError("{}: cannot be read", file);
  return text.str();
}

toml::table parse(const std::string& file) {
  try {
    return toml::parse(read_text(file), file);
  } catch (const toml::parse_error& error) {
    throw ConfigError("{}: {}", place(file, error.source()), error.description());
  }
}

std::string value_text(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  throw ConfigError("{}: expected a number, a string, true or false", where);
}

}  // namespace

void Settings::read_file(const std::filesystem::path& path) {
  const std::string file = path.string();
  const toml::table root = parse(file);
  for (const auto& [section, node] : root) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      require_key(section.str(), place(file, section.source()));
    } else if (section != "train") {
      const std::string_view known[] = {"train"};
      throw ConfigError("{}: unknown section {}{}", place(file, section.source()), section.str(),
                        did_you_mean(section.str(), known));
    } else {
      for (const auto& [name, value] : *table) {
        const std::string where = place(file, name.source());
        const Key& key = require_key(fmt::format("{}.{}", section.str(), name.str()), where);
        set(key, value_text(value, where), fmt::format("{}: {}", place(file, value.source()), key.name),
            fmt::format("{}:{}", file, name.source().begin.line));
      }
    }
  }
}

}  // namespace hocket
