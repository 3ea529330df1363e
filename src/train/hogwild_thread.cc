#include "train/hogwild_thread.h"

#include <algorithm>

#include "data/sampler.h"
#include "net/clock.h"

namespace hocket {
namespace {

// By the one thread that writes it.
template <typename Number>
void add(std::atomic<Number>& total, Number more) {
  total.store(total.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

HogwildUpdate::HogwildUpdate(const HogwildShared& shared, HogwildTally& own, bool observes)
    : shared_(shared), own_(own), observes_(observes) {
  if (shared.lock != nullptr) {
    lock_ = std::unique_lock(*shared.lock, std::try_to_lock);
    if (!lock_) {
      const std::int64_t start = now_ns();
      lock_.lock();
      own_.wait_ns += now_ns() - start;
    }
  }
  if (observes_) before_ = updates_of_others();
}

void HogwildUpdate::finish(std::int64_t samples, double loss) {
  if (observes_) {
    const std::int64_t staleness = updates_of_others() - before_;
    const auto last = static_cast<std::int64_t>(own_.staleness.size()) - 1;
    ++own_.staleness[static_cast<std::size_t>(std::min(staleness, last))];
    own_.staleness_sum += staleness;
    ++own_.conflicts.observed_updates;
  }
  if (lock_) lock_.unlock();
  add(own_.updates, std::int64_t{1});
  add(own_.samples, samples);
  add(own_.loss, loss);
}

std::int64_t HogwildUpdate::updates_of_others() const {
  std::int64_t sum = 0;
  for (const HogwildTally& tally : shared_.tallies) {
    if (&tally != &own_) sum += tally.updates.load(std::memory_order_relaxed);
  }
  return sum;
}

void gather_claim(const HogwildShared& shared, const Claim& claim, Batch& batch,
                  std::vector<std::int64_t>& indices) {
  const SampleOrder order(shared.data.info().size, shared.options.seed, claim.epoch);
  indices.resize(static_cast<std::size_t>(claim.count));
  order.copy(claim.first, indices);
  shared.data.gather(indices, claim.epoch, batch.fields);
  const auto weight = batch.weight.values<float>();
  std::fill(weight.begin(), weight.begin() + claim.count, 1.0F);
  std::fill(weight.begin() + claim.count, weight.end(), 0.0F);
  batch.count = claim.count;
  batch.global_count = claim.batch_count;
  batch.epoch = claim.epoch;
  batch.first = claim.first - claim.offset;
  batch.offset = claim.offset;
}

}  // namespace hocket
