#include "train/hogwild_crew.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "train/node_spans.h"

namespace hocket {
namespace {

std::int64_t nanoseconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace

HogwildCrew::HogwildCrew(HogwildShared shared)
    : tallies_(static_cast<std::size_t>(shared.options.workers)),
      shared_(std::move(shared)),
      queue_(shared_.data.info().size, shared_.options.batch, shared_.grain) {
  shared_.tallies = tallies_;
  shared_.lock = shared_.is_locked ? &update_lock_ : nullptr;
  for (int rank = 0; rank < shared_.options.workers; ++rank) {
    members_.push_back({nullptr, std::make_unique<SpanRecorder>(nullptr),
                        Straggler(shared_.options, rank, shared_.options.workers)});
  }
}

HogwildCrew::~HogwildCrew() {
  queue_.close();
  join();
}

void HogwildCrew::start(std::int64_t first_step, std::int64_t end_step) {
  end_step_ = end_step;
  is_stopped_ = false;
  queue_.open(first_step, end_step);
  run_threads();
}

void HogwildCrew::run_threads() {
  running_ = members_.size();
  for (std::size_t i = 0; i < members_.size(); ++i) threads_.emplace_back([this, i] { work(i); });
}

void HogwildCrew::join() { threads_.clear(); }

bool HogwildCrew::wait(Seconds most) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, most, [&] { return running_ == 0; });
}

void HogwildCrew::stop() {
  if (is_stopped_) return;
  is_stopped_ = true;
  queue_.close();
}

std::int64_t HogwildCrew::finish() {
  join();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!is_stopped_) return end_step_;
  const std::int64_t step = queue_.open_rest();
  run_threads();
  join();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return step;
}

void HogwildCrew::work(std::size_t index) {
  ::pthread_setname_np(::pthread_self(), "hocket-hogwild");
  const std::int64_t start = nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
  std::exception_ptr failure;
  try {
    work_on(index);
  } catch (...) {
    failure = std::current_exception();
    queue_.abandon();
  }
  tallies_[index].cpu_seconds += 1e-9 * static_cast<double>(nanoseconds_of(CLOCK_THREAD_CPUTIME_ID) - start);
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = failure;
  if (--running_ == 0) ended_.notify_all();
}

void HogwildCrew::work_on(std::size_t index) {
  Member& member = members_[index];
  HogwildTally& tally = tallies_[index];
  if (member.worker == nullptr) {
    member.worker = shared_.is_sparse ? make_sparse_worker(shared_, tally, *member.spans)
                                      : make_dense_worker(shared_, tally, *member.spans);
  }
  while (const std::optional<Claim> claim = queue_.try_claim()) {
    const std::int64_t before = tally.compute_ns;
    member.worker->work(*claim);
    if (member.straggler.is_active()) slow_down(member, tally, *claim, tally.compute_ns - before);
  }
}

// Relative to the share of a batch that each thread would have among equals.
void HogwildCrew::slow_down(Member& member, HogwildTally& tally, const Claim& claim, std::int64_t computed) {
  const double share =
      static_cast<double>(claim.count) * shared_.options.workers / static_cast<double>(shared_.options.batch);
  const double left = member.straggler.seconds_left(claim.step, 1e-9 * static_cast<double>(computed), share);
  const std::int64_t start = nanoseconds_of(CLOCK_MONOTONIC);
  std::this_thread::sleep_for(Seconds(left));
  const std::int64_t end = nanoseconds_of(CLOCK_MONOTONIC);
  tally.compute_ns += end - start;
  member.spans->record(Activity::emulate, start, end);
}

HogwildProgress HogwildCrew::progress() const {
  HogwildProgress progress;
  for (const HogwildTally& tally : tallies_) {
    progress.samples += tally.samples.load(std::memory_order_relaxed);
    progress.loss += tally.loss.load(std::memory_order_relaxed);
  }
  return progress;
}

ConflictCounts HogwildCrew::conflicts() const {
  ConflictCounts sum;
  for (const HogwildTally& tally : tallies_) {
    sum.observed_updates += tally.conflicts.observed_updates;
    sum.writes += tally.conflicts.writes;
    sum.conflicts += tally.conflicts.conflicts;
  }
  return sum;
}

void HogwildCrew::put(TrainResult& result) const {
  result.conflicts = conflicts();
  for (const HogwildTally& tally : tallies_) {
    RankSeconds seconds = result.seconds;
    seconds.compute_seconds = 1e-9 * static_cast<double>(tally.compute_ns);
    seconds.wait_seconds = 1e-9 * static_cast<double>(tally.wait_ns);
    seconds.cpu_seconds = tally.cpu_seconds;
    result.ranks.push_back(seconds);
    const std::int64_t observed = std::max<std::int64_t>(1, tally.conflicts.observed_updates);
    GradientCounts counts{tally.updates.load(), 0,
                          static_cast<double>(tally.staleness_sum) / static_cast<double>(observed),
                          tally.staleness};
    while (!counts.staleness.empty() && counts.staleness.back() == 0) counts.staleness.pop_back();
    result.gradients.push_back(std::move(counts));
  }
}

void HogwildCrew::leave_spans(const std::filesystem::path& run_folder) const {
  for (std::size_t i = 0; i < members_.size(); ++i)
    leave_node_spans(run_folder, static_cast<int>(i), members_[i].spans->timeline());
}

}  // namespace hocket
