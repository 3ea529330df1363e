#pragma once

#include <cstddef>
#include <span>

#include "net/clock.h"
#include "net/link_tree.h"
#include "net/rank.h"

namespace hocket {

// Slow links on one host: says when a message would arrive on the links of a LinkTree, whose comment is the
// model. For each queue there it keeps the time at which the queue is free, in memory that all ranks share
// (they may be threads or processes). The sender calls reserve() when it posts a message; the receiver must
// not see the message before the time returned, and the sender's own transfer lasts until sent(). Times are
// absolute, of one clock common to all ranks. Thread-safe and lock-free.
class LinkLedger {
 public:
  // Bytes that the ledger needs, aligned to 8 and zero at the start of the job.
  static std::size_t bytes_needed(const LinkTree& tree);

  // `tree` and `memory` must outlive the ledger. Every rank makes its own, of an equal tree on the same
  // memory.
  LinkLedger(const LinkTree& tree, std::span<std::byte> memory);

  // Takes its place in every queue on the path and returns when the message is delivered.
  Seconds reserve(Rank from, Rank to, std::size_t bytes, Seconds now);

  // When the egress of `rank` has carried all that the rank has posted.
  Seconds sent(Rank rank) const;

 private:
  double occupy(int queue, double now, double seconds);

  const LinkTree& tree_;
  std::span<double> free_at_;  // By queue. Reached through atomic references alone.
};

}  // namespace hocket
