// Each queue is one number, so a message is sent by independent compare-and-swap loops, one a queue, and no
// rank ever waits for another. Two messages that race may come in one order here and in the other there; both
// still find each queue busy for exactly the sum of what it carries.
#include "net/emulation.h"

#include <atomic>
#include <cstdint>

#include "base/error.h"

namespace hocket {

static_assert(std::atomic_ref<double>::is_always_lock_free);

std::size_t LinkLedger::bytes_needed(const LinkTree& tree) {
  return static_cast<std::size_t>(tree.queues()) * sizeof(double);
}

LinkLedger::LinkLedger(const LinkTree& tree, std::span<std::byte> memory) : tree_(tree) {
  HOCKET_CHECK(memory.size() >= bytes_needed(tree), "{} bytes for a ledger of {}", memory.size(),
               bytes_needed(tree));
  HOCKET_CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(double) == 0, "unaligned memory");
  free_at_ = {reinterpret_cast<double*>(memory.data()), static_cast<std::size_t>(tree.queues())};
}

LinkLedger::Passage LinkLedger::reserve(Rank from, Rank to, std::size_t bytes, Seconds now) {
  const auto wait_in = [&](int queue, double seconds) { return occupy(queue, now.count(), seconds); };
  return {now, Seconds(tree_.carry(tree_.route(from, to), from, to, bytes, wait_in))};
}

Seconds LinkLedger::deliver(Rank from, Rank to, std::size_t bytes, const Passage& passage, Seconds posted) {
  const double start = std::max(passage.posted, posted).count();
  const double received = occupy(tree_.ingress(to), start, tree_.route(from, to).seconds(bytes));
  return std::max(passage.carried, Seconds(received));
}

Seconds LinkLedger::sent(Rank rank) const {
  return Seconds(std::atomic_ref<double>(free_at_[static_cast<std::size_t>(tree_.egress(rank))]).load());
}

double LinkLedger::occupy(int queue, double now, double seconds) {
  std::atomic_ref<double> free_at(free_at_[static_cast<std::size_t>(queue)]);
  double free = free_at.load();
  double done = std::max(now, free) + seconds;
  while (!free_at.compare_exchange_weak(free, done)) done = std::max(now, free) + seconds;
  return done;
}

}  // namespace hocket
