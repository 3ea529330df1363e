#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ps/ledger_store.h"
#include "ps/timing.h"

namespace hocket {

// Sees every message of a simulated cluster and says what was wrong: acknowledged gradients that are missing
// in the end or were applied twice, values that were read and never were, two servers that acknowledged for
// one range, or one that answered for it a lease after another had done so. Used by one thread.
class SimulationWitness {
 public:
  SimulationWitness(int ranges, Seconds lease) : lease_(lease), ranges_(static_cast<std::size_t>(ranges)) {}

  // `epoch`: that of the sender's view, if it is a server.
  void see(const NodeId& from, const NodeId& to, const Message& message, std::int64_t epoch, TimePoint now);
  // In the end: what the head of a range has applied, and how many gradients it dropped or keeps.
  void check(RangeId range, const LedgerStore& store, std::int64_t unused);
  void fail(std::string what) { violations_.push_back(std::move(what)); }

  // The longest time without a new acknowledgement that began in the second after `when`; nothing where
  // there was none after it.
  std::optional<Seconds> longest_pause(RangeId range, TimePoint when) const;

  std::int64_t acknowledged() const { return acknowledged_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  using Key = std::tuple<NodeId, std::int32_t, std::int64_t>;  // A client's change.
  struct Acknowledgement {
    std::uint64_t id = 0;
    bool was_dropped = false;
  };
  struct Range {
    std::map<Key, std::uint64_t> pushed;
    std::map<Key, Acknowledgement> acknowledged;
    std::vector<LedgerStore::Reading> readings;
    std::vector<TimePoint> times;  // Of new acknowledgements.
    std::int64_t epoch = 0;        // Of the newest, by
    NodeId head;
    TimePoint head_since{};
  };

  void see_done(const NodeId& from, const NodeId& to, const ChangeDone& done, std::int64_t epoch,
                TimePoint now);

  void see_read(const NodeId& from, const PullDone& done, std::int64_t epoch, TimePoint now);

  Seconds lease_;
  std::vector<Range> ranges_;
  std::int64_t acknowledged_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace hocket
