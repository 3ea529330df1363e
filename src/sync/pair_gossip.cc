#include "sync/pair_gossip.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

// It sleeps instead of spinning: the cores are for those who compute.
constexpr std::chrono::microseconds kRestWhileBusy{50};
constexpr std::chrono::microseconds kRestWhileFree{300};

template <typename T>
void add_half_difference(const Arena& parameters, std::span<const std::byte> received,
                         const Arena& snapshot) {
  T* to = reinterpret_cast<T*>(parameters.data());
  const T* from = reinterpret_cast<const T*>(received.data());
  const T* own = reinterpret_cast<const T*>(snapshot.data());
  const std::size_t count = parameters.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) to[i] += (from[i] - own[i]) / 2;
}

Arena copy_of(std::span<const std::byte> bytes) {
  Arena arena(bytes.size());
  std::copy(bytes.begin(), bytes.end(), arena.bytes().begin());
  return arena;
}

}  // namespace

PairGossip::PairGossip(Transport& transport, const PeerGraph& graph, std::span<const std::byte> parameters,
                       const Options& options)
    : transport_(transport),
      options_(options),
      parameters_(copy_of(parameters)),
      snapshot_(parameters.size()),
      peer_(transport.rank(), graph.to(transport.rank()), options.seed, *this),
      wire_(transport, parameters.size()),
      must_allow_(static_cast<std::size_t>(transport.size())),
      progress_(must_allow_.size()),
      thread_([this](const std::stop_token& stop) { talk(stop); }) {
  HOCKET_CHECK(!graph.is_directed(), "pairs that average talk both ways");
}

PairGossip::~PairGossip() {
  if (held_) held_.unlock();
  stop();
}

void PairGossip::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  changed_.notify_all();
  thread_.join();
}

Arena& PairGossip::lock() {
  held_ = std::unique_lock(parameters_mutex_);
  return parameters_;
}

// Nobody waits here unless it is about to do more than its share of what is left.
bool PairGossip::finish_step(const PairProgress& own, bool wants_to_stop) {
  std::unique_lock lock(mutex_);
  rethrow_failure();
  report_ = {PairNotice::Word::report, wants_to_stop, own.steps, own.samples, own.loss};
  if (transport_.rank() == 0) {
    count(0, report_);
  } else {
    has_report_ = true;
  }
  wants_to_ask_ = !is_meeting();
  changed_.notify_all();
  const bool is_answered = changed_.wait_for(
      lock, options_.deadline, [&] { return failure_ || is_meeting() || own.steps < allowed_; });
  rethrow_failure();
  if (!is_answered)
    throw NetError("rank {}: rank {} did not answer a report for {:.0f} s",
                   transport_.rank_in_job(transport_.rank()), transport_.rank_in_job(0),
                   options_.deadline.count());
  return is_meeting();
}

void PairGossip::settle() {
  std::unique_lock lock(mutex_);
  wants_to_ask_ = false;
  while (!failure_ && (!is_free_ || must_call_ || has_report_)) changed_.wait(lock);
  rethrow_failure();
}

void PairGossip::open(std::int64_t steps_of_all, std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  ++opened_;
  steps_to_meeting_ = steps_of_all;
  allowed_ = report_.steps + allowance(steps_of_all - steps);
  if (transport_.rank() == 0)
    must_allow_.assign(must_allow_.size(), true);  // Reports may have come too early.
}

// Half of what is left, among all: even if no news arrives they overshoot by no more than that.
std::int64_t PairGossip::allowance(std::int64_t steps_left) const {
  return std::max<std::int64_t>(1, steps_left / (2 * transport_.size()));
}

PairProgress PairGossip::progress_of_all() const {
  const std::lock_guard lock(mutex_);
  PairProgress all;
  for (const PairProgress& one : progress_) {
    all.steps += one.steps;
    all.samples += one.samples;
    all.loss += one.loss;
  }
  return all;
}

PairGossip::Counts PairGossip::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void PairGossip::talk(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      bool moved = wire_.advance(*this);
      moved |= take_requests();
      publish();
      watch_deadline();
      if (!moved) rest();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

// What the other thread wants.
bool PairGossip::take_requests() {
  const std::lock_guard lock(mutex_);
  bool moved = false;
  if (wants_to_ask_) {
    wants_to_ask_ = false;
    if (peer_.try_ask()) is_free_ = false;
    moved = true;
  }
  if (has_report_ && wire_.has_left(0, PairNotice::Word::report)) {
    has_report_ = false;
    wire_.send(0, report_);
    moved = true;
  }
  if (must_call_) {
    must_call_ = false;
    for (int peer = 1; peer < transport_.size(); ++peer) wire_.send(peer, {PairNotice::Word::meet});
    moved = true;
  }
  for (int peer = 1; peer < transport_.size(); ++peer) {
    if (must_allow_[static_cast<std::size_t>(peer)] && wire_.has_left(peer, PairNotice::Word::allow))
      allow(peer);
  }
  return moved;
}

void PairGossip::allow(int worker) {
  must_allow_[static_cast<std::size_t>(worker)] = false;
  std::int64_t left = steps_to_meeting_;
  for (const PairProgress& one : progress_) left -= one.steps;
  const std::int64_t steps = progress_[static_cast<std::size_t>(worker)].steps + allowance(left);
  if (worker == 0) {
    allowed_ = steps;
  } else {
    wire_.send(worker, {PairNotice::Word::allow, false, steps});
  }
}

void PairGossip::publish() {
  const std::lock_guard lock(mutex_);
  is_free_ = peer_.is_free();
  counts_ = {peer_.exchanges(), peer_.refusals(), transport_.traffic().bytes_sent};
  const std::int64_t answers = peer_.exchanges() + peer_.refusals();
  if (is_free_ || answers != answers_) busy_since_ = Clock::now();
  answers_ = answers;
  if (is_meeting()) changed_.notify_all();
}

void PairGossip::rest() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, is_free_ ? kRestWhileFree : kRestWhileBusy,
                    [&] { return wants_to_ask_ || has_report_ || must_call_; });
}

void PairGossip::watch_deadline() {
  if (peer_.is_free() || Clock::now() - busy_since_ < options_.deadline) return;
  throw NetError("rank {}: rank {} did not answer in an exchange of parameters for {:.0f} s",
                 transport_.rank_in_job(transport_.rank()), transport_.rank_in_job(peer_.partner()),
                 options_.deadline.count());
}

void PairGossip::send(int to, PairWord word) {
  PairNotice notice;
  notice.word = static_cast<PairNotice::Word>(word);
  wire_.send(to, notice);
}

// Says that it is not free before the partner can know: whoever has met with it sees the exchange end.
void PairGossip::send_snapshot(int to, PairWord word) {
  {
    const std::lock_guard lock(mutex_);
    is_free_ = false;
  }
  {
    const std::lock_guard lock(parameters_mutex_);
    std::copy(parameters_.bytes().begin(), parameters_.bytes().end(), snapshot_.bytes().begin());
  }
  PairNotice notice;
  notice.word = static_cast<PairNotice::Word>(word);
  wire_.send(to, notice, snapshot_.bytes());
}

void PairGossip::meet_half_way() {
  const std::lock_guard lock(parameters_mutex_);
  if (options_.dtype == DType::f64) {
    add_half_difference<double>(parameters_, wire_.values(), snapshot_);
  } else {
    add_half_difference<float>(parameters_, wire_.values(), snapshot_);
  }
}

bool PairGossip::expects_values(int from, PairNotice::Word word) const {
  return static_cast<std::size_t>(word) < kPairWords &&
         peer_.expects_values(from, static_cast<PairWord>(word));
}

void PairGossip::on_notice(int from, const PairNotice& notice) {
  if (static_cast<std::size_t>(notice.word) < kPairWords)
    return peer_.on_message(from, static_cast<PairWord>(notice.word));
  const std::lock_guard lock(mutex_);
  if (notice.word == PairNotice::Word::report) count(from, notice);
  if (notice.word == PairNotice::Word::meet) ++called_;
  if (notice.word == PairNotice::Word::allow) allowed_ = notice.steps;
  changed_.notify_all();
}

void PairGossip::count(int worker, const PairNotice& report) {
  progress_[static_cast<std::size_t>(worker)] = {report.steps, report.samples, report.loss};
  std::int64_t steps = 0;
  for (const PairProgress& one : progress_) steps += one.steps;
  if (is_meeting()) return;
  if (steps < steps_to_meeting_ && !report.wants_to_stop) {
    must_allow_[static_cast<std::size_t>(worker)] = true;
    if (worker == 0) allow(0);
  } else {
    ++called_;
    must_call_ = true;
  }
}

void PairGossip::rethrow_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace hocket
