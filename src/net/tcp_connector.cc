#include "net/tcp_connector.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>

#include "base/error.h"
#include "net/tcp_stream.h"
#include "net/tls_stream.h"

namespace hocket {
namespace {

constexpr Seconds kLook{0.05};  // How often a wait looks at the job's health.
constexpr Seconds kHandshakeLimit{2.0};
constexpr Seconds kMeetingGrace{0.5};  // For news of the true culprit.

}  // namespace

TcpConnector::TcpConnector(const Job& job, Health& health, Listener listener, TcpOptions options, Log log)
    : job_(job), health_(health), listener_(std::move(listener)), options_(options), log_(std::move(log)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
  ::pthread_setname_np(thread_.native_handle(), "hocket-accept");
}

TcpConnector::~TcpConnector() {
  thread_.request_stop();
  wake_.signal();
}

bool TcpConnector::shares_host(Rank peer) const {
  return job_.members[static_cast<std::size_t>(peer)].host_id ==
         job_.members[static_cast<std::size_t>(job_.rank)].host_id;
}

bool TcpConnector::is_encrypted(Rank peer) const { return !job_.plaintext && !shares_host(peer); }

int TcpConnector::streams_with(Rank peer) const {
  return shares_host(peer) ? options_.streams_within_host : options_.streams_between_hosts;
}

std::vector<std::vector<std::unique_ptr<Stream>>> TcpConnector::connect(unsigned channel,
                                                                        std::span<const Rank> members) {
  const TimePoint deadline = after(options_.timeout);
  std::vector<Streams> all(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (int s = 0; members[i] < job_.rank && s < streams_with(members[i]); ++s) {
      all[i].push_back(to_stream(dial(channel, members[i], s, deadline), members[i]));
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] <= job_.rank) continue;
    for (auto& [index, socket] : await(channel, members[i], deadline)) {
      all[i].push_back(to_stream(std::move(socket), members[i]));
    }
  }
  establish(all, members, deadline);
  return all;
}

void TcpConnector::accept_all(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> polls{{wake_.fd(), POLLIN, 0}};
    listener_.add_to(polls);
    ::poll(polls.data(), polls.size(), milliseconds_until(listener_.next_deadline(after(Seconds(3600)))));
    for (Accepted& accepted : listener_.progress(Clock::now())) keep(std::move(accepted));
  }
}

void TcpConnector::keep(Accepted accepted) {
  const Hello& hello = accepted.hello;
  const bool makes_sense = hello.purpose == Purpose::data && hello.rank > job_.rank &&
                           hello.rank < job_.size() && hello.streams == streams_with(hello.rank);
  if (!makes_sense) {
    log_(fmt::format("rank {} closed a connection of rank {} that nobody expects", job_.rank, hello.rank));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    waiting_[{hello.channel, hello.rank}][hello.stream] = std::move(accepted.socket);
  }
  arrived_.notify_all();
}

FileDescriptor TcpConnector::dial(unsigned channel, Rank peer, int stream, TimePoint deadline) {
  Hello hello;
  hello.purpose = Purpose::data;
  hello.is_encrypted = is_encrypted(peer);
  hello.channel = channel;
  hello.stream = static_cast<std::uint16_t>(stream);
  hello.streams = static_cast<std::uint16_t>(streams_with(peer));
  hello.rank = job_.rank;
  while (true) {
    check_health(channel);
    try {
      return try_dial(hello, peer, std::min(deadline, after(kHandshakeLimit)));
    } catch (const std::exception& error) {  // Its listener may be besieged by strangers: try again.
      if (Clock::now() >= deadline) fail(peer, channel, error.what());
    }
    std::this_thread::sleep_for(kLook);
  }
}

FileDescriptor TcpConnector::try_dial(const Hello& hello, Rank peer, TimePoint deadline) {
  const Member& member = job_.members[static_cast<std::size_t>(peer)];
  FileDescriptor socket = connect_to({member.address, member.port}, deadline);
  Handshake handshake = Handshake::connecting(job_.key, hello);
  complete(handshake, socket.get(), deadline);
  if (handshake.peer().rank != peer) {
    throw Refused(fmt::format("rank {} answers there", handshake.peer().rank));
  }
  return socket;
}

TcpConnector::Sockets TcpConnector::await(unsigned channel, Rank peer, TimePoint deadline) {
  const auto wanted = static_cast<std::size_t>(streams_with(peer));
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = waiting_.find({channel, peer});
    if (found != waiting_.end() && found->second.size() == wanted) {
      Sockets sockets = std::move(found->second);
      waiting_.erase(found);
      return sockets;
    }
    lock.unlock();
    check_health(channel);
    if (Clock::now() >= deadline) fail(peer, channel, "it did not connect");
    lock.lock();
    arrived_.wait_until(lock, std::min(deadline, after(kLook)));
  }
}

std::unique_ptr<Stream> TcpConnector::to_stream(FileDescriptor socket, Rank peer) const {
  if (!is_encrypted(peer)) return std::make_unique<TcpStream>(std::move(socket));
  const auto role = peer < job_.rank ? TlsStream::Role::connecting : TlsStream::Role::accepting;
  return std::make_unique<TlsStream>(std::move(socket), role, job_.key);
}

// All at once: each end of a handshake would otherwise wait for one that the other has not begun.
void TcpConnector::establish(std::span<const Streams> all, std::span<const Rank> members,
                             TimePoint deadline) {
  while (true) {
    std::vector<pollfd> polls;
    Rank late = -1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (members[i] == job_.rank || !is_encrypted(members[i])) continue;
      for (const std::unique_ptr<Stream>& stream : all[i]) {
        try {
          if (static_cast<TlsStream&>(*stream).establish()) continue;
        } catch (const StreamClosed& closed) {
          fail(members[i], 0, closed.what());
        }
        polls.push_back({stream->fd(), POLLIN, 0});
        late = members[i];
      }
    }
    if (polls.empty()) return;
    check_health(0);
    if (Clock::now() >= deadline) fail(late, 0, "it does not answer the TLS handshake");
    ::poll(polls.data(), polls.size(), milliseconds_until(std::min(deadline, after(kLook))));
  }
}

void TcpConnector::check_health(unsigned channel) const {
  if (!health_.failed()) return;
  throw NetError("rank {}: connecting channel {} failed: {}", job_.rank, channel, health_.failure().what);
}

void TcpConnector::fail(Rank peer, unsigned channel, std::string_view why) {
  const Member& member = job_.members[static_cast<std::size_t>(peer)];
  const Health::Failure suspect{
      peer, fmt::format("rank {} (pid {} on {}) cannot be reached at {} from rank {}: {}", peer, member.pid,
                        member.host, to_string({member.address, member.port}), job_.rank, why)};
  const Health::Failure settled = health_.settle(suspect, kMeetingGrace);
  throw NetError("rank {}: connecting channel {} failed: {}", job_.rank, channel, settled.what);
}

}  // namespace hocket
