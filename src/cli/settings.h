#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/keys.h"
#include "train/run_folder.h"

namespace hocket {

// The value of every key and where it came from. Read the sources from the weakest to the strongest: each
// overrides those before. A value type; reading throws ConfigError with the place of what is wrong and, for
// an unknown key, the nearest one.
class Settings {
 public:
  Settings();

  void read_file(const std::filesystem::path& path);      // TOML.
  void read_environment(const char* const* environment);  // HOCKET_TRAIN__LR=0.1
  void read_flags(const Arguments& arguments);            // --lr 0.1
  void read_assignments(const Arguments& arguments);      // --set train.lr=0.1
  void set(const Key& key, std::string_view value, std::string_view where, std::string origin);

  int folds() const { return options_.folds; }
  int fold() const { return options_.fold; }  // Counted from 1; 0: all of them.
  // For the trainer, which counts folds from 0.
  TrainOptions train_options() const;

  void require_consistent() const;  // Throws ConfigError where keys contradict each other.

  // What config.toml shows: all but the run folder itself.
  std::vector<Setting> effective() const;

 private:
  TrainOptions options_;
  std::vector<std::string> origins_;  // By key, in the order of all_keys().
};

// Throws ConfigError for a name that is no key.
const Key& require_key(std::string_view name, std::string_view where);

}  // namespace hocket
