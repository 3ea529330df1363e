#include "train/run_checkpoints.h"

#include <utility>

#include "base/error.h"
#include "train/checkpoint_settings.h"
#include "train/team.h"

namespace hocket {
namespace {

const std::string kSamples = "samples";
const std::string kTrainTime = "train_ns";

}  // namespace

RunCheckpoints::RunCheckpoints(const TrainOptions& options, Team& team, Warn warn)
    : options_(options), team_(team), warn_(std::move(warn)) {
  if (options.out.empty()) return;
  store_.emplace(std::filesystem::path(options.out) / "checkpoints", team,
                 CheckpointOptions{options.keep_checkpoints, warn_});
}

std::optional<RunProgress> RunCheckpoints::resume(const Restore& restore) {
  if (!options_.resume) return std::nullopt;
  if (!store_) throw ConfigError("--resume needs --out, the run folder to go on in");
  const std::optional<CheckpointReader> reader = store_->open_newest();
  if (!reader) {
    warn_(fmt::format("{}: no checkpoint to resume from; starting anew", options_.out));
    return std::nullopt;
  }
  const Checkpoint& checkpoint = reader->checkpoint();
  team_.attempt([&] {
    require_same_settings(checkpoint, options_);
    restore(*reader);
  });
  saved_ = checkpoint.step;
  warn_(fmt::format("resuming after step {}", checkpoint.step));
  return RunProgress{checkpoint.step,
                     progress_of(checkpoint, kSamples),
                     progress_of(checkpoint, kTrainTime),
                     {checkpoint.epoch, checkpoint.position}};
}

void RunCheckpoints::save(Checkpoint tensors, const RunProgress& progress) {
  if (!wants(progress.step)) return;
  saved_ = progress.step;
  tensors.settings.merge(settings_of(options_));
  tensors.settings[kSamples] = std::to_string(progress.samples);
  tensors.settings[kTrainTime] = std::to_string(progress.train_ns);
  tensors.seed = options_.seed;
  tensors.step = progress.step;
  tensors.epoch = progress.position.epoch;
  tensors.position = progress.position.sample;
  store_->save(tensors);
}

DataPosition position_after(std::int64_t step, std::int64_t steps_per_epoch, std::int64_t batch) {
  return {step / steps_per_epoch, step % steps_per_epoch * batch};
}

}  // namespace hocket
