#include "runtime/communicator.h"

#include <functional>

#include "base/error.h"
#include "graph/cut_stages.h"

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t ns(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Communicator::Communicator(MeshGroups& groups, bool overlap) : groups_(groups) {
  if (!overlap || groups.mesh().size_of("dp") == 1) return;
  background_group_ = std::make_unique<Group>(groups.open_along("dp"));
  background_ = std::make_unique<AsyncGroup>(
      *background_group_,
      [this](const Operation& operation, Clock::time_point start) { finished(operation, start); });
}

void Communicator::finished(const Operation& operation, Clock::time_point start) {
  const Clock::time_point end = Clock::now();
  busy_ns_ += ns(end - start);
  const std::lock_guard lock(observing_);
  if (span_observer_) span_observer_(operation, ns(start.time_since_epoch()), ns(end.time_since_epoch()));
}

void Communicator::waited(Clock::time_point start) {
  const Clock::time_point end = Clock::now();
  exposed_ns_ += ns(end - start);
  if (wait_observer_) wait_observer_(ns(start.time_since_epoch()), ns(end.time_since_epoch()));
}

void Communicator::set_observers(SpanObserver spans, WaitObserver waits) {
  const std::lock_guard lock(observing_);
  span_observer_ = std::move(spans);
  wait_observer_ = std::move(waits);
}

void Communicator::run(std::string_view axis, const Operation& operation) {
  const Clock::time_point start = Clock::now();
  groups_.along(axis).run(operation);
  finished(operation, start);
  waited(start);
}

void Communicator::sum_and_use(const Operation& operation, std::size_t piece, const UseOfSum& use) {
  const Clock::time_point start = Clock::now();
  Clock::duration used{};
  const auto timed_use = [&](Range range) {
    const Clock::time_point before = Clock::now();
    use(range);
    used += Clock::now() - before;
  };
  groups_.along("dp").sum_and_use(operation, piece, std::ref(timed_use));
  finished(operation, start);
  waited(start);
  busy_ns_ -= ns(used);
  exposed_ns_ -= ns(used);
}

Communicator::Ticket Communicator::start(std::string_view axis, const Operation& operation) {
  if (background_ && axis == "dp") return background_->start(operation);
  run(axis, operation);
  return 0;
}

Communicator::Ticket Communicator::reserve(std::size_t count) { return background_->reserve(count); }

void Communicator::start(const Operation& operation, Ticket ticket) { background_->start(operation, ticket); }

bool Communicator::is_done(Ticket ticket) const { return ticket == 0 || background_->is_done(ticket); }

void Communicator::wait(Ticket ticket) {
  if (ticket == 0) return;
  const Clock::time_point start = Clock::now();
  background_->wait(ticket);
  waited(start);
}

void Communicator::open_links(int chunks) {
  links_ = std::make_unique<StageLinks>(groups_.open_channels("pp", channel_count(chunks)));
}

StageLinks& Communicator::links() {
  HOCKET_CHECK(links_ != nullptr, "the links between stages are not open");
  return *links_;
}

void Communicator::wait(StageLinks::Message& message) {
  if (links().is_done(message)) {
    message = {};
    return;
  }
  const Clock::time_point start = Clock::now();
  links().wait(message);
  busy_ns_ += ns(Clock::now() - start);
  waited(start);
}

Group* Communicator::gradients() {
  if (background_) return background_group_.get();
  return groups_.mesh().size_of("dp") == 1 ? nullptr : &groups_.along("dp");
}

std::span<std::byte> Communicator::allocate_gradients(std::size_t bytes) {
  Group* group = gradients();
  return (group == nullptr ? groups_.world() : *group).allocate(bytes);
}

}  // namespace hocket
