#include "train/agreement.h"

#include <sstream>

namespace hocket {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Claims claims_of(const TrainOptions& o) {
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  return {{"model", o.model},
          {"data", o.data},
          {"test data", o.test_data},
          {"validation", text(o.validation)},
          {"folds", fmt::format("{}/{}", o.fold, o.folds)},
          {"augment", o.augment},
          {"steps", text(o.steps)},
          {"batch", text(o.batch)},
          {"micro-batches", text(o.micro_batches)},
          {"optimizer", o.optimizer.rule},
          {"momentum", text(o.optimizer.momentum)},
          {"weight decay", text(o.optimizer.weight_decay)},
          {"clip", text(o.optimizer.clip)},
          {"learning rate", text(o.learning_rate)},
          {"learning-rate schedule", o.lr_schedule},
          {"warmup", text(o.warmup)},
          {"dtype", o.dtype},
          {"seed", text(o.seed)},
          {"sync", o.sync},
          {"allow disconnected", text(o.allow_disconnected)},
          {"balance", text(o.balance)},
          {"reduce order", o.reduce_order},
          {"algorithm", o.algorithm},
          {"zero", text(o.zero)},
          {"place", o.place},
          {"schedule", o.schedule},
          {"stages", o.stages},
          {"recompute", text(o.recompute)},
          {"factors", text(o.factors)},
          {"bucket", text(o.bucket)},
          {"synchronous batch norm", text(o.sync_batch_norm)},
          {"compress", o.compress},
          {"gradient norms", text(o.gradient_norms)},
          {"emulated links", o.emulate_net},
          {"slow ranks", o.slow},
          {"jitter", text(o.jitter)},
          {"emulated computation", text(o.emulate_compute)},
          {"target accuracy", text(o.target_accuracy)},
          {"steps between tests", text(o.eval_every)},
          {"steps between records", text(o.log_every)},
          {"steps between checkpoints", text(o.checkpoint_every)},
          {"resume", text(o.resume)}};
}

void require_agreement(Team& team, const Claims& claims) {
  if (team.is_alone()) return;
  std::string own;
  for (const auto& claim : claims) own += claim.second + '\n';
  const std::vector<std::string> all = team.gather(own);
  const std::vector<std::string> first = lines_of(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<std::string> other = lines_of(all[rank]);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (other.at(i) == first.at(i)) continue;
      const std::string what =
          fmt::format("rank {} has {} '{}' and rank 0 has '{}': they must be the same on all ranks", rank,
                      claims[i].first, other[i], first[i]);
      if (team.is_first()) throw ConfigError("{}", what);
      throw FailedElsewhere("{}", what);
    }
  }
}

}  // namespace hocket
