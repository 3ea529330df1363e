#include "net/stream_transport.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "net/emulation.h"
#include "net/pause.h"

namespace hocket {

namespace {

// Ranks on emulated links mostly wait: they must leave the cores to each other. No longer than this at once:
constexpr Seconds kLongestSleep{1e-3};
constexpr Seconds kRestWithoutSocket{50e-6};  // Nothing wakes who waits for such a stream.

}  // namespace

StreamTransport::StreamTransport(Connector& connector, unsigned channel, std::vector<Rank> members, Rank me,
                                 Health& health, TransportOptions options)
    : connector_(connector),
      members_(std::move(members)),
      rank_(static_cast<Rank>(std::find(members_.begin(), members_.end(), me) - members_.begin())),
      health_(health),
      options_(std::move(options)) {
  auto streams = connector.connect(channel, members_);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Peer& peer = peers_.emplace_back();
    const EmulatedLink link{options_.emulation, me, members_[i]};
    for (auto& stream : streams[i]) {
      peer.lanes.push_back(std::make_unique<Lane>(std::move(stream), options_.job, link));
    }
  }
  shared_memory_ = connector.share(channel, members_);
  if (options_.emulation != nullptr) shared_memory_.reset();
}

StreamTransport::~StreamTransport() = default;

StreamTransport::Peer& StreamTransport::peer(Rank rank) {
  HOCKET_CHECK(rank >= 0 && rank < size() && rank != rank_, "rank {} of {} has no peer {}", rank_, size(),
               rank);
  return peers_[static_cast<std::size_t>(rank)];
}

std::size_t StreamTransport::lanes_for(const Peer& peer, std::size_t bytes) const {
  return bytes >= options_.stripe_bytes ? peer.lanes.size() : 1;
}

namespace {

// Part `index` of `bytes` cut into `parts` that are, but for the last, multiples of a page.
std::pair<std::size_t, std::size_t> stripe(std::size_t bytes, std::size_t parts, std::size_t index) {
  if (parts == 1) return {0, bytes};
  const std::size_t part = (bytes / parts + 4095) / 4096 * 4096;
  const std::size_t from = std::min(bytes, part * index);
  const std::size_t to = index + 1 == parts ? bytes : std::min(bytes, part * (index + 1));
  return {from, to - from};
}

}  // namespace

Pending StreamTransport::send(Rank to, const Label& label, std::span<const std::byte> bytes) {
  Peer& destination = peer(to);
  const std::uint64_t serial = destination.sends++;
  const std::size_t lanes = lanes_for(destination, bytes.size());
  for (std::size_t i = 0; i < lanes; ++i) {
    const auto part = stripe(bytes.size(), lanes, i);
    destination.lanes[i]->send(serial, label, bytes.subspan(part.first, part.second));
  }
  traffic().messages_sent += 1;
  traffic().bytes_sent += bytes.size();
  return {to, Pending::Direction::send, serial};
}

Pending StreamTransport::recv(Rank from, const Label& label, std::span<std::byte> into) {
  return start_recv(from, label, {into.data(), {}, into.size(), 0});
}

Pending StreamTransport::recv(Rank from, const Label& label, std::size_t bytes, Sink sink) {
  return start_recv(from, label, {nullptr, sink, bytes, 0});
}

Pending StreamTransport::start_recv(Rank from, const Label& label, Incoming incoming) {
  Peer& source = peer(from);
  const std::uint64_t serial = source.recvs++;
  const std::size_t lanes = lanes_for(source, incoming.bytes);
  for (std::size_t i = 0; i < lanes; ++i) {
    const auto part = stripe(incoming.bytes, lanes, i);
    std::byte* into = incoming.into == nullptr ? nullptr : incoming.into + part.first;
    source.lanes[i]->recv(serial, label, {into, incoming.sink, part.second, part.first}, round_began_);
  }
  traffic().messages_received += 1;
  traffic().bytes_received += incoming.bytes;
  return {from, Pending::Direction::recv, serial};
}

void StreamTransport::begin_round() {
  if (options_.emulation != nullptr) round_began_ = Clock::now();
}

bool StreamTransport::progress() {
  bool moved = false;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (rank != rank_) moved |= advance(rank, peers_[static_cast<std::size_t>(rank)]);
  }
  return moved;
}

bool StreamTransport::advance(Rank rank, Peer& peer) {
  const Rank in_job = rank_in_job(rank);
  try {
    bool moved = false;
    for (const auto& lane : peer.lanes) {
      if (lane->is_idle()) continue;
      moved |= lane->advance_send();
      moved |= lane->advance_recv([this](const Label& label) { return text_of(label); });
    }
    return moved;
  } catch (const StreamClosed& closed) {
    health_.settle({in_job, fmt::format("rank {}: {}", in_job, closed.what())});
  } catch (const FrameMismatch& mismatch) {
    const Rank me = rank_in_job(rank_);
    health_.report({-1, fmt::format("rank {} and rank {} disagree: from rank {}: {}", me, in_job, in_job,
                                    mismatch.what())});
  }
  return false;  // wait() finds the failure in health_.
}

bool StreamTransport::is_done(const Pending& pending) const {
  for (const auto& lane : peers_[static_cast<std::size_t>(pending.peer)].lanes) {
    const bool done = pending.direction == Pending::Direction::send ? lane->has_sent(pending.serial)
                                                                    : lane->has_received(pending.serial);
    if (!done) return false;
  }
  return true;
}

void StreamTransport::wait(const Pending& pending) {
  Pause pause(options_.crowded);
  for (;;) {
    const bool moved = progress();
    if (is_done(pending)) return;
    check(pause, pending.peer, [&] { return context_of(pending); });
    if (moved) {
      pause.restart();
    } else {
      rest(pause);
    }
  }
}

void StreamTransport::rest(Pause& pause) {
  if (options_.emulation != nullptr || waits_asleep_) {
    pause.look();
    return sleep(longest_sleep());
  }
  const Seconds duration = pause.once();
  if (duration > Seconds(0)) sleep(duration);
}

Seconds StreamTransport::longest_sleep() const {
  const TimePoint now = Clock::now();
  Seconds rest = kLongestSleep;
  bool is_idle = true;
  for (const Peer& peer : peers_) {
    for (const auto& lane : peer.lanes) {
      is_idle = is_idle && lane->is_idle();
      if (const auto due = lane->due()) rest = std::clamp<Seconds>(*due - now, Seconds(0), rest);
      const bool wants_to_move = lane->wants_to_read() || lane->wants_to_write();
      if (lane->fd() < 0 && wants_to_move) rest = std::min(rest, kRestWithoutSocket);
    }
  }
  return is_idle ? kRestWithoutSocket : rest;
}

void StreamTransport::pass_time(Pause& pause, Rank peer, const Label& label) {
  check(pause, peer, [&] {
    return fmt::format("rank {}: waiting for rank {} ({})", rank_in_job(rank_), rank_in_job(peer),
                       text_of(label));
  });
  rest(pause);
}

// Throws when the job has failed, also because this wait has passed its deadline.
void StreamTransport::check(const Pause& pause, Rank peer, const std::function<std::string()>& context) {
  if (pause.waited() > options_.deadline) {
    health_.report({rank_in_job(peer), fmt::format("rank {} is alive but did not answer for {:.0f} s",
                                                   rank_in_job(peer), options_.deadline.count())});
  }
  if (health_.failed()) throw NetError("{} failed: {}", context(), health_.failure().what);
}

// Sleeps until something happens on a socket, or for `duration`.
void StreamTransport::sleep(Seconds duration) {
  constexpr std::size_t kMost = 64;
  pollfd fds[kMost];
  std::size_t n = 0;
  for (const Peer& peer : peers_) {
    for (const auto& lane : peer.lanes) {
      const int events = (lane->wants_to_read() ? POLLIN : 0) | (lane->wants_to_write() ? POLLOUT : 0);
      if (lane->fd() < 0 || events == 0 || n == kMost) continue;
      fds[n++] = {lane->fd(), static_cast<short>(events), 0};
    }
  }
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(duration);
  const timespec timeout = {0, static_cast<long>(ns.count())};
  ppoll(fds, n, &timeout, nullptr);
}

std::string StreamTransport::context_of(const Pending& pending) {
  const Rank me = rank_in_job(rank_);
  const Rank in_job = rank_in_job(pending.peer);
  const bool sending = pending.direction == Pending::Direction::send;
  for (const auto& lane : peer(pending.peer).lanes) {
    const Label* label = lane->label_of_first(pending.direction);
    if (label == nullptr) continue;
    return fmt::format("rank {}: {} rank {} ({})", me, sending ? "send to" : "recv from", in_job,
                       text_of(*label));
  }
  return fmt::format("rank {}: {} rank {}", me, sending ? "send to" : "recv from", in_job);
}

std::unique_ptr<Transport> StreamTransport::split(std::span<const Rank> members, unsigned channel) {
  std::vector<Rank> in_job;
  for (const Rank member : members) in_job.push_back(rank_in_job(member));
  return std::make_unique<StreamTransport>(connector_, channel, std::move(in_job), rank_in_job(rank_),
                                           health_, options_);
}

}  // namespace hocket
