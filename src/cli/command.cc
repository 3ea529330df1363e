#include "cli/command.h"

namespace hocket {
namespace {

const std::string kGroup = "settings and output";

}  // namespace

std::vector<Option> settings_options() {
  return {{"config", "FILE", "read settings from a TOML file", kGroup},
          {"set", "KEY=VALUE", "set one key, as in train.lr=0.1; may be repeated", kGroup}};
}

std::vector<Option> output_options() {
  return {{"json", "", "print the result as JSON on standard output, all else on standard error", kGroup},
          {"quiet", "", "no progress", kGroup},
          {"help", "", "show this", kGroup}};
}

}  // namespace hocket
