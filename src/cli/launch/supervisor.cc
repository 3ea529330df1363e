#include "cli/launch/supervisor.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

TimePoint later(TimePoint now, Seconds wait) {
  return now + std::chrono::duration_cast<Clock::duration>(wait);
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options)
    : options_(options),
      running_(options.world_size),
      statuses_(static_cast<std::size_t>(options.world_size)),
      was_ended_(static_cast<std::size_t>(options.world_size)) {}

bool Supervisor::has_failed(Rank rank) const {
  const auto known = rank >= 0 && rank < options_.world_size ? status(rank) : std::nullopt;
  return known && *known != 0 && !was_ended_[static_cast<std::size_t>(rank)];
}

void Supervisor::on_exit(Rank rank, int status, TimePoint now) {
  auto& known = statuses_[static_cast<std::size_t>(rank)];
  if (known) return;
  known = status;
  --running_;
  was_ended_[static_cast<std::size_t>(rank)] = is_ending_;
  if (status == 0 || is_ending_) return;
  if (!first_failure_) first_failure_ = rank;
  end_soon(options_.last_words, now);
}

void Supervisor::on_job_failure(TimePoint now) { end_soon(options_.last_words, now); }

void Supervisor::on_interrupt(int signal, TimePoint now) {
  if (interrupt_) {
    kill_at_ = now;
    return;
  }
  interrupt_ = signal;
  due_ = signal;
  kill_at_ = std::min(kill_at_.value_or(TimePoint::max()), later(now, options_.interruption));
}

void Supervisor::end_soon(Seconds wait, TimePoint now) {
  if (terminate_at_) return;
  terminate_at_ = later(now, wait);
  kill_at_ = std::min(kill_at_.value_or(TimePoint::max()), later(*terminate_at_, options_.termination));
}

std::optional<int> Supervisor::take_signal(TimePoint now) {
  if (kill_at_ && now >= *kill_at_) {
    kill_at_ = TimePoint::max();
    is_ending_ = true;
    return SIGKILL;
  }
  if (terminate_at_ && now >= *terminate_at_) {
    terminate_at_ = TimePoint::max();
    is_ending_ = true;
    return SIGTERM;
  }
  return std::exchange(due_, std::nullopt);
}

TimePoint Supervisor::next_deadline(TimePoint latest) const {
  for (const auto& each : {terminate_at_, kill_at_}) latest = std::min(latest, each.value_or(latest));
  return latest;
}

}  // namespace hocket
