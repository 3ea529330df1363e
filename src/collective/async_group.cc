#include "collective/async_group.h"

namespace hocket {

AsyncGroup::AsyncGroup(Group& group, Observer observer)
    : group_(group), observer_(std::move(observer)), thread_([this] { work(); }) {}

AsyncGroup::~AsyncGroup() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

AsyncGroup::Handle AsyncGroup::start(const Operation& operation) {
  Handle handle = 0;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(operation);
    handle = ++started_;
  }
  changed_.notify_all();
  return handle;
}

bool AsyncGroup::is_done(Handle handle) const {
  const std::lock_guard lock(mutex_);
  return finished_ >= handle;
}

void AsyncGroup::wait(Handle handle) {
  std::unique_lock lock(mutex_);
  while (finished_ < handle) changed_.wait(lock);
  if (failure_) std::rethrow_exception(failure_);
}

// After a failure the rest of the queue is finished without being run: the group is unusable.
void AsyncGroup::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !ending_) changed_.wait(lock);
    if (queue_.empty()) return;
    const Operation operation = queue_.front();
    queue_.pop_front();
    const bool usable = !failure_;
    lock.unlock();
    std::exception_ptr failure;
    const auto start = std::chrono::steady_clock::now();
    try {
      if (usable) group_.run(operation);
    } catch (...) {
      failure = std::current_exception();
    }
    if (observer_) observer_(operation, start);
    lock.lock();
    if (failure) failure_ = failure;
    ++finished_;
    changed_.notify_all();
  }
}

}  // namespace hocket
