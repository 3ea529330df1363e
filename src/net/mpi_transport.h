#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/health.h"
#include "net/mpi_lane.h"
#include "net/mpi_plugin.h"
#include "net/stream_transport.h"
#include "net/transport.h"

namespace hocket {

// The transport over MPI. A group is told from others by its channel, which is the tag of its messages. MPI
// ends all ranks of a job when one dies; who else has the job's health learns here who that was.
class MpiTransport final : public Transport {
 public:
  // The channel of `members` (ranks of MPI), of which this process is one. `mpi` and `health` outlive it.
  // Throws ConfigError when MPI has no such tag.
  MpiTransport(MpiPlugin& mpi, unsigned channel, std::vector<Rank> members, Health& health,
               TransportOptions options);
  ~MpiTransport() override;

  Rank rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  std::string_view name() const override { return options_.name; }

  Pending send(Rank to, const Label& label, std::span<const std::byte> bytes) override;
  Pending recv(Rank from, const Label& label, std::span<std::byte> into) override;
  Pending recv(Rank from, const Label& label, std::size_t bytes, Sink sink) override;
  bool progress() override;
  bool is_done(const Pending& pending) const override;
  void wait(const Pending& pending) override;
  std::unique_ptr<Transport> split(std::span<const Rank> members, unsigned channel) override;
  Health& health() override { return health_; }
  Rank rank_in_job(Rank rank) const override { return members_[static_cast<std::size_t>(rank)]; }
  bool is_crowded() const override { return options_.crowded; }

 protected:
  void pass_time(Pause& pause, Rank peer, const Label& label) override;

 private:
  struct Peer {
    std::unique_ptr<MpiLane> lane;  // None to oneself.
    std::uint64_t sends = 0;
    std::uint64_t recvs = 0;
  };

  Pending start_recv(Rank from, const Label& label, Incoming incoming);
  Peer& peer(Rank rank);
  bool advance(Rank rank, MpiLane& lane);
  void check(const Pause& pause, Rank peer, const std::function<std::string()>& context);
  std::string context_of(const Pending& pending);

  MpiPlugin& mpi_;
  std::vector<Rank> members_;  // Ranks of MPI and of the job, by rank of the group.
  Rank rank_;
  Health& health_;
  TransportOptions options_;
  std::vector<Peer> peers_;
};

// The transport of all ranks.
std::unique_ptr<Transport> mpi_transport(MpiPlugin& mpi, Health& health, TransportOptions options);

}  // namespace hocket
