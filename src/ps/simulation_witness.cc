#include "ps/simulation_witness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hocket {

void SimulationWitness::see(const NodeId& from, const NodeId& to, const Message& message, std::int64_t epoch,
                            TimePoint now) {
  if (const auto* request = std::get_if<ChangeRequest>(&message)) {
    const auto* push = std::get_if<Push>(&request->change);
    if (push == nullptr) return;
    const Key key{request->client, request->sequence.incarnation, request->sequence.number};
    ranges_[static_cast<std::size_t>(request->range)].pushed[key] = push->values.values<std::uint64_t>()[0];
  }
  if (const auto* done = std::get_if<ChangeDone>(&message)) see_done(from, to, *done, epoch, now);
  if (const auto* done = std::get_if<PullDone>(&message)) see_read(from, *done, epoch, now);
}

void SimulationWitness::see_read(const NodeId& from, const PullDone& done, std::int64_t epoch,
                                 TimePoint now) {
  Range& range = ranges_[static_cast<std::size_t>(done.range)];
  if (epoch < range.epoch && from != range.head && now > later(range.head_since, lease_)) {
    fail(fmt::format("range {}: {} answers in epoch {}, long after {} became head", done.range,
                     to_string(from), epoch, to_string(range.head)));
  }
  if (done.values.bytes.empty()) return;
  LedgerStore::Reading reading;
  std::memcpy(&reading, done.values.bytes.data(), sizeof(reading));
  range.readings.push_back(reading);
}

// One that is repeated may come from whoever knows of it; a new one only from the head of the newest view.
void SimulationWitness::see_done(const NodeId& from, const NodeId& to, const ChangeDone& done,
                                 std::int64_t epoch, TimePoint now) {
  Range& range = ranges_[static_cast<std::size_t>(done.range)];
  const Key key{to, done.sequence.incarnation, done.sequence.number};
  const auto pushed = range.pushed.find(key);
  if (pushed == range.pushed.end()) return;
  if (!range.acknowledged.try_emplace(key, Acknowledgement{pushed->second, done.was_dropped}).second) return;
  ++acknowledged_;
  range.times.push_back(now);
  if (epoch < range.epoch || (epoch == range.epoch && from != range.head)) {
    fail(fmt::format("range {}: {} acknowledges in epoch {} after {} did in epoch {}", done.range,
                     to_string(from), epoch, to_string(range.head), range.epoch));
  }
  if (from != range.head) range.head_since = now;
  range.epoch = epoch;
  range.head = from;
}

void SimulationWitness::check(RangeId id, const LedgerStore& store, std::int64_t unused) {
  const Range& range = ranges_[static_cast<std::size_t>(id)];
  std::map<std::uint64_t, int> applied;
  for (const std::uint64_t gradient : store.applied()) ++applied[gradient];
  for (const auto& [gradient, times] : applied) {
    if (times > 1) fail(fmt::format("range {}: gradient {} was applied {} times", id, gradient, times));
  }
  std::int64_t missing = 0;
  for (const auto& [key, acknowledgement] : range.acknowledged) {
    const bool is_there = applied.contains(acknowledgement.id);
    if (is_there && acknowledgement.was_dropped)
      fail(fmt::format("range {}: gradient {} was applied but reported as dropped", id, acknowledgement.id));
    if (!is_there && !acknowledgement.was_dropped) ++missing;
  }
  if (missing > unused)
    fail(fmt::format("range {}: {} acknowledged gradients are lost", id, missing - unused));
  if (store.torn() > 0)
    fail(fmt::format("range {}: {} gradients changed before they were applied", id, store.torn()));
  const auto lost = std::count_if(range.readings.begin(), range.readings.end(),
                                  [&](const LedgerStore::Reading& reading) { return !store.had(reading); });
  if (lost > 0) fail(fmt::format("range {}: {} of the values that were read are lost", id, lost));
}

std::optional<Seconds> SimulationWitness::longest_pause(RangeId range, TimePoint when) const {
  const std::vector<TimePoint>& times = ranges_[static_cast<std::size_t>(range)].times;
  auto next = std::upper_bound(times.begin(), times.end(), when);
  if (next == times.end()) return std::nullopt;
  Seconds longest = *next - when;
  for (; next + 1 != times.end() && *next < later(when, Seconds(1)); ++next)
    longest = std::max<Seconds>(longest, *(next + 1) - *next);
  return longest;
}

}  // namespace hocket
