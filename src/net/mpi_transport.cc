#include "net/mpi_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"
#include "net/frame.h"
#include "net/pause.h"

namespace hocket {

namespace {

void rest(Pause& pause) {
  const Seconds duration = pause.once();
  if (duration > Seconds(0)) std::this_thread::sleep_for(duration);
}

}  // namespace

MpiTransport::MpiTransport(MpiPlugin& mpi, unsigned channel, std::vector<Rank> members, Health& health,
                           TransportOptions options)
    : mpi_(mpi),
      members_(std::move(members)),
      rank_(static_cast<Rank>(std::find(members_.begin(), members_.end(), mpi.rank()) - members_.begin())),
      health_(health),
      options_(std::move(options)) {
  if (channel > static_cast<unsigned>(mpi_.largest_tag())) {
    throw ConfigError("a group with the id {} is too much for this MPI, which counts to {}", channel,
                      mpi_.largest_tag());
  }
  options_.name = "mpi";
  peers_.resize(members_.size());
  for (Rank rank = 0; rank < size(); ++rank) {
    if (rank == rank_) continue;
    peers_[static_cast<std::size_t>(rank)].lane =
        std::make_unique<MpiLane>(mpi_, rank_in_job(rank), static_cast<int>(channel), options_.job);
  }
}

MpiTransport::~MpiTransport() {
  if (health_.failed()) mpi_.abandon();
}

MpiTransport::Peer& MpiTransport::peer(Rank rank) {
  HOCKET_CHECK(rank >= 0 && rank < size() && rank != rank_, "rank {} of {} has no peer {}", rank_, size(),
               rank);
  return peers_[static_cast<std::size_t>(rank)];
}

Pending MpiTransport::send(Rank to, const Label& label, std::span<const std::byte> bytes) {
  Peer& destination = peer(to);
  const std::uint64_t serial = destination.sends++;
  destination.lane->send(serial, label, bytes);
  traffic().messages_sent += 1;
  traffic().bytes_sent += bytes.size();
  return {to, Pending::Direction::send, serial};
}

Pending MpiTransport::recv(Rank from, const Label& label, std::span<std::byte> into) {
  return start_recv(from, label, {into.data(), {}, into.size(), 0});
}

Pending MpiTransport::recv(Rank from, const Label& label, std::size_t bytes, Sink sink) {
  return start_recv(from, label, {nullptr, sink, bytes, 0});
}

Pending MpiTransport::start_recv(Rank from, const Label& label, Incoming incoming) {
  Peer& source = peer(from);
  const std::uint64_t serial = source.recvs++;
  source.lane->recv(serial, label, incoming);
  traffic().messages_received += 1;
  traffic().bytes_received += incoming.bytes;
  return {from, Pending::Direction::recv, serial};
}

bool MpiTransport::progress() {
  bool moved = false;
  for (Rank rank = 0; rank < size(); ++rank) {
    if (rank != rank_) moved |= advance(rank, *peers_[static_cast<std::size_t>(rank)].lane);
  }
  return moved;
}

bool MpiTransport::advance(Rank rank, MpiLane& lane) {
  const Rank in_job = rank_in_job(rank);
  try {
    if (lane.is_idle() || health_.failed()) return false;
    const bool sent = lane.advance_send();
    return lane.advance_recv([this](const Label& label) { return text_of(label); }) || sent;
  } catch (const MpiFailure& failure) {
    health_.settle({in_job, fmt::format("rank {}: MPI: {}", in_job, failure.what())});
  } catch (const FrameMismatch& mismatch) {
    const Rank me = rank_in_job(rank_);
    health_.report({-1, fmt::format("rank {} and rank {} disagree: from rank {}: {}", me, in_job, in_job,
                                    mismatch.what())});
  }
  return false;  // wait() finds the failure in health_.
}

bool MpiTransport::is_done(const Pending& pending) const {
  const MpiLane& lane = *peers_[static_cast<std::size_t>(pending.peer)].lane;
  return pending.direction == Pending::Direction::send ? lane.has_sent(pending.serial)
                                                       : lane.has_received(pending.serial);
}

void MpiTransport::wait(const Pending& pending) {
  Pause pause(options_.crowded);
  for (;;) {
    const bool moved = progress();
    if (is_done(pending)) return;
    check(pause, pending.peer, [&] { return context_of(pending); });
    if (!moved) rest(pause);
  }
}

void MpiTransport::pass_time(Pause& pause, Rank peer, const Label& label) {
  check(pause, peer, [&] {
    return fmt::format("rank {}: waiting for rank {} ({})", rank_in_job(rank_), rank_in_job(peer),
                       text_of(label));
  });
  rest(pause);
}

// Throws when the job has failed, also because this wait has passed its deadline.
void MpiTransport::check(const Pause& pause, Rank peer, const std::function<std::string()>& context) {
  if (pause.waited() > options_.deadline) {
    health_.report({rank_in_job(peer), fmt::format("rank {} is alive but did not answer for {:.0f} s",
                                                   rank_in_job(peer), options_.deadline.count())});
  }
  if (health_.failed()) throw NetError("{} failed: {}", context(), health_.failure().what);
}

std::string MpiTransport::context_of(const Pending& pending) {
  const bool sending = pending.direction == Pending::Direction::send;
  const std::string who = fmt::format("rank {}: {} rank {}", rank_in_job(rank_),
                                      sending ? "send to" : "recv from", rank_in_job(pending.peer));
  const Label* label = peer(pending.peer).lane->label_of_first(pending.direction);
  return label == nullptr ? who : fmt::format("{} ({})", who, text_of(*label));
}

std::unique_ptr<Transport> MpiTransport::split(std::span<const Rank> members, unsigned channel) {
  std::vector<Rank> in_job;
  for (const Rank member : members) in_job.push_back(rank_in_job(member));
  return std::make_unique<MpiTransport>(mpi_, channel, std::move(in_job), health_, options_);
}

std::unique_ptr<Transport> mpi_transport(MpiPlugin& mpi, Health& health, TransportOptions options) {
  std::vector<Rank> everyone(static_cast<std::size_t>(mpi.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  return std::make_unique<MpiTransport>(mpi, 0, std::move(everyone), health, std::move(options));
}

}  // namespace hocket
