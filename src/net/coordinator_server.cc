#include "net/coordinator_server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "net/call.h"
#include "net/running.h"

namespace hocket {
namespace {

constexpr Seconds kTick{0.1};

CoordinatorOptions in_this_process(CoordinatorOptions options) {
  options.process = {this_host_name(), "", 0, this_host_id(), ::getpid()};
  options.is_running = is_running_here;
  return options;
}

}  // namespace

void CoordinatorServer::Sender::send(Coordinator::Connection to, const ControlMessage& message) {
  const auto found = lines_.find(to);
  if (found != lines_.end()) found->second.stream.send(encode(message));
}

CoordinatorServer::CoordinatorServer(CoordinatorOptions options, Listener listener, const JobKey& key,
                                     Log log, std::function<void(Accepted)> others)
    : listener_(std::move(listener)),
      endpoint_(listener_.endpoint()),
      key_(key),
      log_(std::move(log)),
      others_(std::move(others)),
      coordinator_(in_this_process(std::move(options)), sender_) {
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  ::pthread_setname_np(thread_.native_handle(), "hocket-coord");
}

CoordinatorServer::~CoordinatorServer() {
  thread_.request_stop();
  wake_.signal();
}

void CoordinatorServer::report_exit(Rank rank, std::string how) {
  {
    const std::lock_guard lock(mutex_);
    exits_.emplace_back(rank, std::move(how));
  }
  wake_.signal();
}

std::optional<Health::Failure> CoordinatorServer::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void CoordinatorServer::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) serve_once(after(kTick));
  const TimePoint deadline = after(farewell_.load());
  while (coordinator_.present() > 0 && !coordinator_.failure() && Clock::now() < deadline) {
    serve_once(std::min(deadline, after(kTick)));
  }
  say_goodbye();
}

void CoordinatorServer::serve_once(TimePoint until) {
  std::vector<pollfd> polls{{wake_.fd(), POLLIN, 0}};
  listener_.add_to(polls);
  for (const auto& [connection, line] : lines_) polls.push_back(line.stream.to_poll());
  ::poll(polls.data(), polls.size(), milliseconds_until(listener_.next_deadline(until)));
  wake_.clear();

  const TimePoint now = Clock::now();
  for (Accepted& accepted : listener_.progress(now)) take(std::move(accepted));
  for (auto each = lines_.begin(); each != lines_.end();) {
    const auto current = each++;
    try {
      hear(current->first, current->second, now);
    } catch (const std::exception& closed) {
      coordinator_.on_closed(current->first, closed.what(), now);
      lines_.erase(current);
    }
  }
  pass_on_exits(now);
  coordinator_.on_tick(now);
  const std::lock_guard lock(mutex_);
  failure_ = coordinator_.failure();
}

void CoordinatorServer::take(Accepted accepted) {
  const Hello hello = accepted.hello;
  if (hello.purpose != Purpose::control) {
    if (others_) {
      others_(std::move(accepted));
    } else {
      log_(fmt::format("the coordinator closed a connection of rank {} that it does not expect", hello.rank));
    }
    return;
  }
  lines_.emplace(next_connection_++, Line{hello.rank, FramedStream(answer(std::move(accepted), key_))});
}

void CoordinatorServer::hear(Coordinator::Connection connection, Line& line, TimePoint now) {
  line.stream.progress();
  while (const auto message = line.stream.receive()) {
    coordinator_.on_message(connection, line.rank, decode(*message), now);
  }
}

void CoordinatorServer::pass_on_exits(TimePoint now) {
  std::vector<std::pair<Rank, std::string>> exits;
  {
    const std::lock_guard lock(mutex_);
    exits.swap(exits_);
  }
  for (const auto& [rank, how] : exits) coordinator_.on_exit(rank, how, now);
}

void CoordinatorServer::say_goodbye() {
  for (auto& [connection, line] : lines_) line.stream.send(encode(Goodbye{}));
  for (auto& [connection, line] : lines_) line.stream.flush(after(Seconds(0.1)));
}

}  // namespace hocket
