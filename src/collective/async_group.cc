#include "collective/async_group.h"

#include "base/pin.h"

namespace hocket {
namespace {

// Who is told that an operation is done wakes up, often on the core of the thread that tells, and takes it
// for milliseconds before the next operation has begun. So nobody is told: who waits looks.
constexpr std::chrono::microseconds kLook{20};

}  // namespace

AsyncGroup::AsyncGroup(Group& group, Observer observer) : group_(group), observer_(std::move(observer)) {
  group_.transport().wait_asleep();
  thread_ = std::jthread([this] { work(); });
}

AsyncGroup::~AsyncGroup() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

AsyncGroup::Handle AsyncGroup::start(const Operation& operation) {
  const Handle turn = reserve(1);
  start(operation, turn);
  return turn;
}

AsyncGroup::Handle AsyncGroup::reserve(std::size_t count) {
  const std::lock_guard lock(mutex_);
  const Handle first = next_ + (queue_.size() - front_);
  queue_.resize(queue_.size() + count);
  return first;
}

void AsyncGroup::start(const Operation& operation, Handle turn) {
  {
    const std::lock_guard lock(mutex_);
    queue_[front_ + (turn - next_)] = operation;
  }
  changed_.notify_all();
}

bool AsyncGroup::is_done(Handle handle) const {
  const std::lock_guard lock(mutex_);
  return finished_ >= handle;
}

void AsyncGroup::wait(Handle handle) {
  std::unique_lock lock(mutex_);
  while (finished_ < handle) {
    lock.unlock();
    std::this_thread::sleep_for(kLook);
    lock.lock();
  }
  if (failure_) std::rethrow_exception(failure_);
}

// After a failure the rest of the queue is finished without being run: the group is unusable.
void AsyncGroup::work() {
  take_short_turns();
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto is_ready = [&] { return front_ < queue_.size() && queue_[front_].has_value(); };
    while (!is_ready() && !ending_) changed_.wait(lock);
    if (!is_ready()) return;
    const Operation operation = *queue_[front_++];
    ++next_;
    if (front_ == queue_.size()) {
      queue_.clear();
      front_ = 0;
    }
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
  }
}

}  // namespace hocket
