#pragma once

#include "jobs/job_order.h"

namespace hocket {

// Slots as they are now and as they will be once all that is stopping has ended: what is promised to a job
// comes out of the second, what starts must be in both.
class SlotLedger {
 public:
  explicit SlotLedger(const ClusterState& state);

  // Starts it, or keeps room for it until those that are stopping have ended; false when there is no room.
  bool give(const ClusterState& state, std::size_t job, Decisions& decisions);
  void start(const ClusterState& state, std::size_t job, Allocation allocation, Decisions& decisions);

  const FreeSlots& now() const { return now_; }
  const FreeSlots& soon() const { return soon_; }

 private:
  FreeSlots now_, soon_;
};

// Starts waiting jobs in their order as far as slots go; whoever does not fit is passed over. For policies
// that stop others for the head when its turn comes.
void start_what_fits(const ClusterState& state, const JobOrder& waiting, Decisions& decisions);

// Starts waiting jobs in their order up to the first that does not fit, the head, and then of those behind it
// the ones that do not delay the head: they end before it can start, or leave it room (EASY backfill). A job
// of unknown length may end at any moment, and so may not count on it. Returns the head's position in
// `waiting`.
std::size_t start_with_backfill(const ClusterState& state, const JobOrder& waiting,
                                const PolicyOptions& options, Decisions& decisions);

// When the head will start at the latest if no length is wrong, and what is free then.
struct Reservation {
  double when = 0;
  FreeSlots free;
};
Reservation reserve(const ClusterState& state, const SlotLedger& ledger, const Decisions& decisions,
                    const ClusterJob& head);

}  // namespace hocket
