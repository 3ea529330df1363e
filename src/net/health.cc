#include "net/health.h"

namespace hocket {

Health::Failure Health::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Health::report(const Failure& failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    failure_ = failure;
    failed_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
  if (listener_) listener_(failure);
}

Health::Failure Health::settle(const Failure& suspect, Seconds grace) {
  {
    std::unique_lock lock(mutex_);
    const TimePoint deadline = after(grace);
    while (!failed_.load(std::memory_order_relaxed)) {
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) break;
    }
  }
  report(suspect);
  return failure();
}

}  // namespace hocket
