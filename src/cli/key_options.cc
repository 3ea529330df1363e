#include "cli/key_options.h"

#include <fmt/format.h>
#include <unistd.h>

namespace hocket {
namespace {

std::string help_of(const Key& key) {
  const std::string fallback = text_of(key, TrainOptions());
  if (key.placeholder.empty() || fallback.empty() || fallback == "0") return key.help;
  return fmt::format("{} ({})", key.help, fallback == "auto" ? key.automatic : fallback);
}

}  // namespace

std::vector<Option> key_options() {
  std::vector<Option> options;
  for (const Key& key : all_keys()) options.push_back({key.flag(), key.placeholder, help_of(key), key.group});
  return options;
}

Settings read_settings(const Arguments& arguments, const std::filesystem::path& resumed_config) {
  Settings settings;
  if (!resumed_config.empty() && std::filesystem::exists(resumed_config)) settings.read_file(resumed_config);
  if (arguments.has("config")) settings.read_file(arguments.text("config"));
  settings.read_environment(environ);
  settings.read_flags(arguments);
  settings.read_assignments(arguments);
  settings.require_consistent();
  return settings;
}

}  // namespace hocket
