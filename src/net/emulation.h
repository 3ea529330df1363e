#pragma once

#include <cstddef>
#include <span>

#include "net/clock.h"
#include "net/link_tree.h"
#include "net/rank.h"

namespace hocket {

// Slow links on one host: says when messages would arrive on the links of a LinkTree, whose comment is the
// model. For each queue there it keeps the time at which the queue is free, in memory that all ranks share
// (they may be threads or processes). The sender calls reserve() when it posts a message, and sends the
// result along; its own transfer lasts until sent(). The receiver calls deliver() once it has both the
// message and a receive for it, and must not show the message before the time returned. Times are absolute,
// of one clock common to all ranks. Thread-safe and lock-free.
class LinkLedger {
 public:
  // Bytes that the ledger needs, aligned to 8 and zero at the start of the job.
  static std::size_t bytes_needed(const LinkTree& tree);

  // `tree` and `memory` must outlive the ledger. Every rank makes its own, of an equal tree on the same
  // memory.
  LinkLedger(const LinkTree& tree, std::span<std::byte> memory);

  // What the receiver must know of how a message was sent.
  struct Passage {
    Seconds posted{0};
    Seconds carried{0};
  };

  // For the sender: takes a place in every queue up to the receiver.
  Passage reserve(Rank from, Rank to, std::size_t bytes, Seconds now);

  // For the receiver, which has posted its receive at `posted`: when the message is delivered.
  Seconds deliver(Rank from, Rank to, std::size_t bytes, const Passage& passage, Seconds posted);

  // When the egress of `rank` has carried all that the rank has posted.
  Seconds sent(Rank rank) const;

 private:
  double occupy(int queue, double now, double seconds);

  const LinkTree& tree_;
  std::span<double> free_at_;  // By queue. Reached through atomic references alone.
};

}  // namespace hocket
