// ring [SECONDS]: joins the job it was started in, passes a number around the ring of its ranks for that
// long, and prints what it came to. When the job fails, it prints how long the ring had been standing still,
// by the clock that all processes of a machine share, and why.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "net/meeting.h"

namespace {

using hocket::Clock;

double seconds_now() { return hocket::Seconds(Clock::now().time_since_epoch()).count(); }

// Waits for the stream, with an eye on the job.
void wait(hocket::Stream& stream, short events, hocket::Membership& job) {
  if (job.health().failed()) throw hocket::NetError("{}", job.health().failure().what);
  pollfd poll_for = {stream.fd(), events, 0};
  ::poll(&poll_for, 1, 1);
}

void send(hocket::Stream& stream, std::span<const std::byte> bytes, hocket::Membership& job) {
  while (!bytes.empty()) {
    const std::size_t moved = stream.write_some(bytes);
    if (moved == 0) wait(stream, POLLOUT, job);
    bytes = bytes.subspan(moved);
  }
}

void receive(hocket::Stream& stream, std::span<std::byte> into, hocket::Membership& job) {
  while (!into.empty()) {
    const std::size_t moved = stream.read_some(into);
    if (moved == 0) wait(stream, POLLIN, job);
    into = into.subspan(moved);
  }
}

// One lap: every rank adds its number; rank 0 begins and decides whether it was the last.
bool run_lap(hocket::Membership& job, hocket::Stream& next, hocket::Stream& previous, bool is_last) {
  const hocket::Rank me = job.job().rank;
  std::int64_t message[2] = {0, is_last ? 1 : 0};
  if (me == 0) send(next, std::as_bytes(std::span(message)), job);
  receive(previous, std::as_writable_bytes(std::span(message)), job);
  message[0] += me;
  const std::int64_t size = job.job().size();
  if (me == 0 && message[0] != size * (size - 1) / 2) throw hocket::Error("the ring came to {}", message[0]);
  if (me != 0) send(next, std::as_bytes(std::span(message)), job);
  return message[1] == 1;
}

void run_ring(hocket::Membership& job, double seconds) {
  const int size = job.job().size();
  std::vector<hocket::Rank> members(static_cast<std::size_t>(size));
  std::iota(members.begin(), members.end(), 0);
  const auto streams = job.connector().connect(0, members);
  fmt::print("rank {} of {} is ready, pid {}\n", job.job().rank, size, ::getpid());
  std::fflush(stdout);
  if (size == 1) return;
  hocket::Stream& next = *streams[static_cast<std::size_t>((job.job().rank + 1) % size)].front();
  hocket::Stream& previous = *streams[static_cast<std::size_t>((job.job().rank + size - 1) % size)].front();
  const double end = seconds_now() + seconds;
  long laps = 1;
  while (!run_lap(job, next, previous, seconds_now() >= end)) ++laps;
  fmt::print("rank {} ran {} laps\n", job.job().rank, laps);
}

int run(double seconds) {
  const std::unique_ptr<hocket::Membership> job = hocket::join_job();
  try {
    run_ring(*job, seconds);
    return 0;
  } catch (const hocket::StreamClosed& closed) {
    const auto failure = job->health().settle({-1, closed.what()}, hocket::Seconds(5));
    fmt::print(stderr, "rank {} at {:.3f}: {}\n", job->job().rank, seconds_now(), failure.what);
  } catch (const hocket::NetError& error) {
    fmt::print(stderr, "rank {} at {:.3f}: {}\n", job->job().rank, seconds_now(), error.what());
  }
  return 4;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::atof(argv[1]) : 0);
  } catch (const hocket::ConfigError& error) {
    fmt::print(stderr, "hocket: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "hocket: {}\n", error.what());
    return 4;
  }
}
