#pragma once

#include <filesystem>
#include <vector>

#include "cli/command.h"
#include "cli/settings.h"

namespace hocket {

// An option for every key, as `hocket train` has them.
std::vector<Option> key_options();

// The settings from all their sources: a file to go on from, where it exists, then --config, the environment
// and the command line. Throws ConfigError.
Settings read_settings(const Arguments& arguments, const std::filesystem::path& resumed_config = {});

}  // namespace hocket
