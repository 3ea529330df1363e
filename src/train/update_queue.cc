#include "train/update_queue.h"

#include <algorithm>

namespace hocket {

UpdateQueue::UpdateQueue(std::int64_t samples, std::int64_t batch, std::int64_t grain)
    : samples_(samples), batch_(batch), grain_(grain), per_batch_((batch + grain - 1) / grain) {}

void UpdateQueue::open(std::int64_t first, std::int64_t end) {
  end_.store(end * per_batch_);
  next_.store(first * per_batch_);
}

Claim UpdateQueue::claim_at(std::int64_t number) const {
  const std::int64_t batches = (samples_ + batch_ - 1) / batch_;
  Claim claim;
  claim.step = number / per_batch_;
  claim.epoch = claim.step / batches;
  const std::int64_t begin = claim.step % batches * batch_;
  claim.batch_count = std::min(batch_, samples_ - begin);
  claim.offset = std::min(number % per_batch_ * grain_, claim.batch_count);
  claim.count = std::min(grain_, claim.batch_count - claim.offset);
  claim.first = begin + claim.offset;
  return claim;
}

// The last batch of an epoch may be too short for some of its claims.
std::optional<Claim> UpdateQueue::try_claim() {
  while (true) {
    const std::int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >= end_.load(std::memory_order_relaxed)) return std::nullopt;
    const Claim claim = claim_at(number);
    if (claim.count > 0) return claim;
  }
}

// Whoever asks after the exchange gets a number beyond the end; the numbers before it are handed out.
void UpdateQueue::close() { closed_at_ = std::min(next_.exchange(kClosed), end_.load()); }

void UpdateQueue::abandon() { next_.store(kClosed); }

std::int64_t UpdateQueue::open_rest() {
  const std::int64_t steps = (closed_at_ + per_batch_ - 1) / per_batch_;
  end_.store(steps * per_batch_);
  next_.store(closed_at_);
  return steps;
}

}  // namespace hocket
