#include "net/listener.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/stream.h"

namespace hocket {
namespace {

// When all places are taken, a stranger who has had this long gives way to the next.
constexpr Seconds kFairShare{0.25};

Clock::duration ticks(Seconds seconds) { return std::chrono::duration_cast<Clock::duration>(seconds); }

}  // namespace

Listener::Listener(FileDescriptor listening, const JobKey& key, ListenerOptions options, Log log)
    : listening_(std::move(listening)), key_(key), options_(options), log_(std::move(log)) {}

void Listener::add_to(std::vector<pollfd>& polls) const {
  if (strangers_.size() < options_.max_pending) polls.push_back({listening_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) {
    const short events = stranger.handshake.outgoing().empty() ? POLLIN : POLLIN | POLLOUT;
    polls.push_back({stranger.socket.get(), events, 0});
  }
}

TimePoint Listener::next_deadline(TimePoint latest) const {
  if (strangers_.empty()) return latest;
  const bool is_full = strangers_.size() >= options_.max_pending;
  return std::min(latest, strangers_.front().since + ticks(is_full ? kFairShare : options_.patience));
}

std::vector<Accepted> Listener::progress(TimePoint now) {
  accept_strangers(now);
  std::vector<Accepted> accepted;
  std::vector<Stranger> left;
  for (Stranger& stranger : strangers_) {
    if (!advance_stranger(stranger, now)) continue;
    if (stranger.handshake.is_done()) {
      accepted.push_back({std::move(stranger.socket), stranger.handshake.peer()});
    } else {
      left.push_back(std::move(stranger));
    }
  }
  strangers_ = std::move(left);
  return accepted;
}

void Listener::accept_strangers(TimePoint now) {
  while (make_room(now)) {
    FileDescriptor socket = accept_from(listening_.get());
    if (!socket.is_open()) return;
    Endpoint from = remote_endpoint(socket.get());
    strangers_.push_back(
        {std::move(socket), Handshake::accepting(key_, options_.rank), now, std::move(from)});
  }
}

bool Listener::make_room(TimePoint now) {
  if (strangers_.size() < options_.max_pending) return true;
  if (now - strangers_.front().since < kFairShare) return false;
  refuse(strangers_.front(), "it was slow and others wait");
  strangers_.erase(strangers_.begin());
  return true;
}

// Whether it may stay.
bool Listener::advance_stranger(Stranger& stranger, TimePoint now) {
  try {
    if (advance(stranger.handshake, stranger.socket.get())) {
      check_encryption(stranger);
      return true;
    }
    if (now - stranger.since < options_.patience) return true;
    refuse(stranger,
           fmt::format("it did not prove within {:.3g} s that it belongs here", options_.patience.count()));
  } catch (const Refused& refused) {
    const auto last_words = stranger.handshake.outgoing();
    try {
      if (!last_words.empty()) send_some(stranger.socket.get(), last_words);
    } catch (const StreamClosed&) {  // It does not want to know.
    }
    refuse(stranger, refused.what());
  } catch (const StreamClosed& closed) {
    refuse(stranger, closed.what());
  }
  return false;
}

void Listener::check_encryption(const Stranger& stranger) const {
  if (options_.plaintext || stranger.handshake.peer().is_encrypted || is_within_host(stranger.socket.get()))
    return;
  throw Refused("it came from another host without encryption, which only --plaintext allows");
}

void Listener::refuse(const Stranger& stranger, std::string_view why) const {
  log_(fmt::format("refused a connection from {}: {}", to_string(stranger.from), why));
}

}  // namespace hocket
