#include "net/monitor.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>

#include "base/error.h"
#include "net/control_message.h"
#include "net/running.h"
#include "net/socket.h"

namespace hocket {
namespace {

constexpr Seconds kTick{0.1};
constexpr Seconds kLastWords{0.5};

}  // namespace

Monitor::Monitor(FramedStream coordinator, Health& health, MonitorOptions options)
    : coordinator_(std::move(coordinator)),
      health_(health),
      options_(std::move(options)),
      liveness_(options_.heartbeat, Clock::now()) {
  health_.set_listener([this](const Health::Failure& failure) { announce(failure); });
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  ::pthread_setname_np(thread_.native_handle(), "hocket-monitor");
}

Monitor::~Monitor() {
  thread_.request_stop();
  wake_.signal();
  thread_.join();
  health_.set_listener({});
}

void Monitor::announce(const Health::Failure& failure) {
  {
    const std::lock_guard lock(mutex_);
    announcements_.push_back(failure);
  }
  wake_.signal();
}

void Monitor::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) look();
  pass_on_announcements();
  if (!is_watched_) return;
  if (!health_.failed()) coordinator_.send(encode(Goodbye{}));
  coordinator_.flush(after(kLastWords));
}

void Monitor::look() {
  std::vector<pollfd> polls{{wake_.fd(), POLLIN, 0}};
  if (is_watched_) polls.push_back(coordinator_.to_poll());
  ::poll(polls.data(), polls.size(), milliseconds_until(after(kTick)));
  wake_.clear();
  pass_on_announcements();
  if (!is_watched_) return;
  try {
    hear();
    const TimePoint now = Clock::now();
    if (liveness_.is_time_to_beat(now)) coordinator_.send(encode(Beat{}));
    if (const auto silence =
            liveness_.is_silent(now, [&] { return is_running_here(options_.coordinator); })) {
      report_coordinator(fmt::format("has been silent for {:.2g} s", silence->count()));
    }
  } catch (const std::exception& closed) {
    is_watched_ = false;
    report_coordinator(fmt::format("ended: {}", closed.what()));
  }
}

void Monitor::hear() {
  coordinator_.progress();
  while (const auto bytes = coordinator_.receive()) {
    liveness_.heard(Clock::now());
    const ControlMessage message = decode(*bytes);
    if (const auto* failed = std::get_if<Failed>(&message)) health_.report(failed->failure);
    if (std::holds_alternative<Goodbye>(message)) {
      is_watched_ = false;
      return;
    }
  }
}

void Monitor::pass_on_announcements() {
  std::vector<Health::Failure> failures;
  {
    const std::lock_guard lock(mutex_);
    failures.swap(announcements_);
  }
  if (!is_watched_) return;
  for (const Health::Failure& failure : failures) coordinator_.send(encode(Failed{failure}));
}

void Monitor::report_coordinator(std::string_view how) {
  health_.report({options_.coordinator_rank, fmt::format("{} {}", options_.coordinator_name, how)});
}

}  // namespace hocket
