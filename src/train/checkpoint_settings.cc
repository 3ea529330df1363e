#include "train/checkpoint_settings.h"

#include <charconv>

#include "base/error.h"

namespace hocket {

std::map<std::string, std::string> settings_of(const TrainOptions& o) {
  return {{"model", o.model},
          {"data", o.data},
          {"validation", fmt::format("{}", o.validation)},
          {"folds", fmt::format("{}/{}", o.fold, o.folds)},
          {"augment", o.augment},
          {"batch", std::to_string(o.batch)},
          {"micro_batches", std::to_string(o.micro_batches)},
          {"updates", o.schedule.starts_with("pipedream") ? o.schedule : "together"},
          {"optimizer", o.optimizer.rule},
          {"momentum", fmt::format("{}", o.optimizer.momentum)},
          {"weight_decay", fmt::format("{}", o.optimizer.weight_decay)},
          {"clip", fmt::format("{}", o.optimizer.clip)},
          {"lr", fmt::format("{}", o.learning_rate)},
          {"lr_schedule", o.lr_schedule},
          {"warmup", std::to_string(o.warmup)},
          {"dtype", o.dtype}};
}

std::int64_t progress_of(const Checkpoint& checkpoint, const std::string& counter) {
  const auto at = checkpoint.settings.find(counter);
  std::int64_t value = 0;
  if (at != checkpoint.settings.end())
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
  return value;
}

void require_same_settings(const Checkpoint& checkpoint, const TrainOptions& options) {
  for (const auto& [key, value] : settings_of(options)) {
    const auto at = checkpoint.settings.find(key);
    if (at != checkpoint.settings.end() && at->second != value) {
      throw ConfigError("cannot resume: the checkpoint was made with {} {}, this run has {}", key, at->second,
                        value);
    }
  }
  if (checkpoint.seed != options.seed) {
    throw ConfigError("cannot resume: the checkpoint was made with seed {}, this run has {}", checkpoint.seed,
                      options.seed);
  }
}

}  // namespace hocket
