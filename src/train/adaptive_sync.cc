#include "train/adaptive_sync.h"

#include "train/average_model.h"

namespace hocket {
namespace {

const std::string kSetting = "adacomm";

}  // namespace

AdaptiveSync::AdaptiveSync(const AdaComm& adacomm, Session& session, Group& peers)
    : adacomm_(adacomm), session_(session), peers_(peers) {
  counts_.periods.push_back({1, adacomm.period()});
}

bool AdaptiveSync::after_update(const PeerStep& step) {
  loss_ += step.loss;
  samples_ += static_cast<double>(step.samples);
  if (step.step == 1) {
    first_loss_ = step.loss;
    first_samples_ = static_cast<double>(step.samples);
    first_rate_ = step.learning_rate;
  }
  is_same_ = is_due(step.step);
  if (is_same_) {
    average_parameters(session_, peers_, counts_);
    observe(step);
  }
  return is_same_;
}

void AdaptiveSync::observe(const PeerStep& step) {
  const std::uint64_t sent = peers_.traffic().bytes_sent;
  double sums[] = {loss_, samples_, step.seconds, first_loss_, first_samples_};
  peers_.all_reduce(std::span<double>(sums));
  counts_.bytes_sent += peers_.traffic().bytes_sent - sent;
  if (sums[4] > 0) adacomm_.begin(sums[3] / sums[4], first_rate_);
  loss_ = samples_ = first_loss_ = first_samples_ = 0;
  const bool has_changed =
      adacomm_.observe({step.step, sums[2] / peers_.size(), sums[0] / sums[1], step.learning_rate});
  if (has_changed) counts_.periods.push_back({step.step + 1, adacomm_.period()});
}

void AdaptiveSync::save(Checkpoint& checkpoint) const { checkpoint.settings[kSetting] = adacomm_.text(); }

void AdaptiveSync::restore(const CheckpointReader& checkpoint) {
  const auto& settings = checkpoint.checkpoint().settings;
  const auto at = settings.find(kSetting);
  if (at == settings.end()) return;
  adacomm_.restore(at->second);
  counts_.periods = {{checkpoint.checkpoint().step + 1, adacomm_.period()}};
}

}  // namespace hocket
