#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/clock.h"
#include "net/frame.h"
#include "net/health.h"
#include "net/lane.h"
#include "net/stream.h"
#include "net/transport.h"

namespace hocket {

class LinkLedger;

struct TransportOptions {
  std::string name = "inproc";
  std::uint64_t job = 0;
  Seconds deadline{300};  // Of every wait.
  bool crowded = false;   // More ranks than cores: waits yield at once.
  std::size_t stripe_bytes = std::size_t{1}
                             << 20;  // Messages of at least this size use all streams to the peer.
  LinkLedger* emulation = nullptr;   // Delays every message; outlives the transport.
};

// The transport over streams: memory, sockets or TLS. Frames messages, checks their labels, notices peers
// that are gone.
class StreamTransport final : public Transport {
 public:
  // The channel of `members` (ranks of the job), of which `me` is this one. The connector, which must outlive
  // the transport, opens the streams, now and for groups split off later; `health` must outlive it too.
  StreamTransport(Connector& connector, unsigned channel, std::vector<Rank> members, Rank me, Health& health,
                  TransportOptions options);
  ~StreamTransport() override;

  Rank rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  std::string_view name() const override { return options_.name; }

  Pending send(Rank to, const Label& label, std::span<const std::byte> bytes) override;
  Pending recv(Rank from, const Label& label, std::span<std::byte> into) override;
  Pending recv(Rank from, const Label& label, std::size_t bytes, Sink sink) override;
  void begin_round() override;
  void wait_asleep() override { waits_asleep_ = true; }
  bool progress() override;
  bool is_done(const Pending& pending) const override;
  void wait(const Pending& pending) override;
  std::unique_ptr<Transport> split(std::span<const Rank> members, unsigned channel) override;
  SharedMemory* shared_memory() override { return shared_memory_.get(); }
  Health& health() override { return health_; }
  Rank rank_in_job(Rank rank) const override { return members_[static_cast<std::size_t>(rank)]; }
  bool is_crowded() const override { return options_.crowded; }

 protected:
  void pass_time(Pause& pause, Rank peer, const Label& label) override;

 private:
  struct Peer {
    std::vector<std::unique_ptr<Lane>> lanes;  // One a stream.
    std::uint64_t sends = 0;
    std::uint64_t recvs = 0;
  };

  Pending start_recv(Rank from, const Label& label, Incoming incoming);
  std::size_t lanes_for(const Peer& peer, std::size_t bytes) const;
  Peer& peer(Rank rank);
  bool advance(Rank rank, Peer& peer);
  void rest(Pause& pause);
  Seconds longest_sleep() const;  // Until something may have come that wakes nobody.
  void sleep(Seconds duration);
  void check(const Pause& pause, Rank peer, const std::function<std::string()>& context);
  std::string context_of(const Pending& pending);

  Connector& connector_;
  std::vector<Rank> members_;  // Ranks of the job, by rank of the group.
  Rank rank_;
  Health& health_;
  TransportOptions options_;
  std::vector<Peer> peers_;
  std::unique_ptr<SharedMemory> shared_memory_;
  TimePoint round_began_;  // Where links are emulated.
  bool waits_asleep_ = false;
};

}  // namespace hocket
