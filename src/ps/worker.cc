#include "ps/worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

constexpr Seconds kWarmUpPoll{0.05};
constexpr Seconds kCatchUp{0.1};

}  // namespace

Worker::Worker(const WorkerOptions& options, Client& client, WorkerMemory& memory)
    : options_(options),
      client_(client),
      memory_(memory),
      clock_(options.first),
      computed_for_(static_cast<std::size_t>(options.workers), -1) {}

void Worker::advance(TimePoint now) {
  if (state_ == State::starting && client_.view().epoch > 0 && client_.incarnation() >= 0) {
    enter(State::waiting, now);
    find_ranges();
    pull_all(now);
  }
  if (state_ == State::waiting) go_on(now);
  const bool is_stopped = client_.view().is_over || client_.is_superseded();
  if (is_stopped && state_ != State::computing) enter(State::ended, now);
}

Worker::Need Worker::need() const {
  if (state_ == State::ended) return Need::nothing;
  return state_ == State::computing ? Need::gradient : Need::messages;
}

const Worker::Task& Worker::task() const { return task_; }
std::int64_t Worker::clock() const { return clock_; }
double Worker::waited() const { return waited_; }

void Worker::find_ranges() {
  std::vector<RangeId> ranges = options_.ranges;
  for (RangeId range = 0; options_.ranges.empty() && range < client_.ranges(); ++range)
    ranges.push_back(range);
  known_.resize(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) known_[i].range = ranges[i];
}

void Worker::finish(std::vector<Push> pushes, TimePoint now) {
  HOCKET_CHECK(state_ == State::computing, "a gradient that nobody asked for");
  enter(State::waiting, now);
  computed_for_[static_cast<std::size_t>(task_.slice)] = task_.clock;
  if (task_.is_pushed) {
    HOCKET_CHECK(pushes.size() == known_.size(), "{} pushes for {} ranges", pushes.size(), known_.size());
    for (std::size_t i = 0; i < pushes.size(); ++i) {
      Push& push = pushes[i];
      push.slice = task_.slice;
      push.clock = task_.clock;
      push.version = known_[i].version;
      client_.change(known_[i].range, std::move(push), now);
    }
  }
  if (other_slice_ >= 0) {
    finish_other_slice(now);
  } else {
    finish_own_slice(now);
  }
  advance(now);
}

void Worker::finish_other_slice(TimePoint now) {
  other_slice_ = -1;
  for (Known& known : known_) {
    if (std::exchange(known.is_for_other_slice, false)) pull(known, options_.worker, clock_, now);
  }
}

void Worker::finish_own_slice(TimePoint now) {
  ++clock_;
  since_push_ = task_.is_pushed ? 0 : since_push_ + 1;
  if (std::exchange(is_ahead_, false)) return;
  if (++since_fetch_ >= options_.fetch_every) pull_all(now);
}

void Worker::go_on(TimePoint now) {
  receive();
  if (!may_write_gradients()) return;
  if (other_slice_ >= 0) {
    if (is_awaiting_other_slice()) return;
    for (Known& known : known_) {
      if (known.is_for_other_slice) give(known);
    }
    return compute(other_slice_, clock_ - 1, now);
  }
  if (is_awaiting()) {
    if (catching_up_since_ && now - *catching_up_since_ >= kCatchUp) return wait_no_longer(now);
    if (const std::optional<int> slice = lost_slice()) take_over(*slice, now);
    return;
  }
  catching_up_since_.reset();
  begin_batch(now);
}

void Worker::begin_batch(TimePoint now) {
  for (Known& known : known_) give(known);
  if (warms_up(now)) return;
  if (!has_place_) find_place();
  if (is_over()) return enter(State::ended, now);
  if (!catches_up(now)) compute_own(now);
}

// Rows that were asked for another batch do not serve this one. They are asked for once, whatever the others
// do meanwhile.
void Worker::compute_own(TimePoint now) {
  for (Known& known : known_) {
    if (known.clock == clock_ || memory_.ids(known.range, options_.worker, clock_).bytes.empty()) continue;
    pull(known, options_.worker, clock_, now);
  }
  is_settled_ = is_awaiting();
  if (!is_settled_) compute(options_.worker, clock_, now);
}

// Not near the end: to see it takes values that count the last push.
void Worker::pull_ahead(TimePoint now) {
  if (!options_.pulls_ahead || state_ != State::computing || is_ahead_) return;
  for (const Known& known : known_) {
    if (known.batches + 2 >= static_cast<double>(options_.batches)) return;
  }
  is_ahead_ = true;
  for (Known& known : known_) pull(known, options_.worker, task_.clock + 1, now);
}

void Worker::receive() {
  for (Known& known : known_) {
    if (!known.is_awaited) continue;
    known.came = client_.take_pull(known.range);
    known.is_awaited = !known.came;
  }
}

bool Worker::is_awaiting() const {
  return std::any_of(known_.begin(), known_.end(), [](const Known& known) { return known.is_awaited; });
}

bool Worker::is_awaiting_other_slice() const {
  return std::any_of(known_.begin(), known_.end(),
                     [](const Known& known) { return known.is_awaited && known.is_for_other_slice; });
}

bool Worker::may_write_gradients() const {
  const std::size_t most = options_.pulls_ahead ? 1 : 0;
  return std::all_of(known_.begin(), known_.end(),
                     [&](const Known& known) { return client_.under_way(known.range) <= most; });
}

void Worker::give(Known& known) {
  if (!known.came) return;
  known.version = known.came->progress.version;
  known.batches = known.came->progress.batches;
  memory_.take(*known.came, known.is_for_other_slice ? other_slice_ : options_.worker, known.clock);
  known.came.reset();
}

void Worker::pull(Known& known, int slice, std::int64_t clock, TimePoint now) {
  known.clock = clock;
  known.is_awaited = true;
  known.came.reset();
  client_.pull(known.range, clock, memory_.ids(known.range, slice, clock), memory_.destination(known.range),
               false, now);
}

void Worker::pull_all(TimePoint now) {
  since_fetch_ = 0;
  pulled_ = now;
  for (Known& known : known_) pull(known, options_.worker, clock_, now);
}

void Worker::find_place() {
  has_place_ = true;
  double batches = known_.empty() ? 0 : known_.front().batches;
  for (const Known& known : known_) batches = std::min(batches, known.batches);
  clock_ = std::max(clock_, static_cast<std::int64_t>(std::floor(batches)));
}

// Leaves out what the others did without this worker. Ranges that lag behind the others are read again, so
// that the values are of one batch; but not for long: they may lag because they wait for this worker.
bool Worker::catches_up(TimePoint now) {
  if (is_asynchronous() || is_settled_) return false;
  lagging_clock_ = std::max(clock_, lowest_version());
  clock_ = options_.follows ? std::max(clock_, highest_version()) : lagging_clock_;
  for (Known& known : known_) {
    if (known.version < clock_) pull(known, options_.worker, clock_, now);
  }
  if (is_awaiting()) catching_up_since_ = now;
  return is_awaiting();
}

void Worker::wait_no_longer(TimePoint now) {
  catching_up_since_.reset();
  for (Known& known : known_) {
    known.is_awaited = false;
    known.came.reset();
  }
  clock_ = lagging_clock_;
  compute_own(now);
}

bool Worker::warms_up(TimePoint now) {
  const bool is_warm = options_.worker == 0 || lowest_version() >= options_.first + options_.warm_start;
  if (!is_warm && now - pulled_ >= kWarmUpPoll) pull_all(now);
  return !is_warm && !client_.view().is_over;
}

bool Worker::is_over() const {
  if (!is_asynchronous()) return std::max(clock_, lowest_version()) >= options_.batches;
  return std::all_of(known_.begin(), known_.end(), [&](const Known& known) {
    return known.batches >= static_cast<double>(options_.batches);
  });
}

// Of a worker that is gone, for the batch that this one waits to see the end of.
std::optional<int> Worker::lost_slice() const {
  const View& view = client_.view();
  if (!options_.takes_over || clock_ == options_.first || !has_place_) return std::nullopt;
  for (int slice = 0; slice < options_.workers; ++slice) {
    const auto at = static_cast<std::size_t>(slice);
    const bool is_mine = at < view.slices.size() && view.slices[at] == options_.worker;
    if (is_mine && slice != options_.worker && computed_for_[at] < clock_ - 1) return slice;
  }
  return std::nullopt;
}

void Worker::take_over(int slice, TimePoint now) {
  other_slice_ = slice;
  for (Known& known : known_) {
    if (memory_.ids(known.range, slice, clock_ - 1).bytes.empty()) continue;
    known.is_for_other_slice = true;
    pull(known, slice, clock_ - 1, now);
  }
  if (!is_awaiting_other_slice()) compute(slice, clock_ - 1, now);
}

void Worker::compute(int slice, std::int64_t clock, TimePoint now) {
  const bool is_own = slice == options_.worker;
  const bool is_due = since_push_ + 1 >= options_.push_every || clock + 1 == options_.batches;
  task_ = {slice, clock, lowest_version(), is_own && since_push_ > 0, !is_own || is_due};
  enter(State::computing, now);
}

void Worker::enter(State state, TimePoint now) {
  const double seconds = Seconds(now - since_).count();
  if (state_ == State::waiting) waited_ += seconds;
  state_ = state;
  since_ = now;
}

std::int64_t Worker::lowest_version() const {
  std::int64_t version = known_.empty() ? 0 : known_.front().version;
  for (const Known& known : known_) version = std::min(version, known.version);
  return version;
}

std::int64_t Worker::highest_version() const {
  std::int64_t version = 0;
  for (const Known& known : known_) version = std::max(version, known.version);
  return version;
}

}  // namespace hocket
