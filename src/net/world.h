#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "net/clock.h"
#include "net/emulation.h"
#include "net/job_connector.h"
#include "net/meeting.h"
#include "net/transport.h"

namespace hocket {

// How bytes travel. `automatic`: shared memory within a host, TCP between hosts.
enum class TransportKind : std::uint8_t { automatic, shm, tcp, mpi, inproc };

std::string_view name_of(TransportKind kind);
std::optional<TransportKind> find_transport_kind(std::string_view name);

struct WorldOptions {
  TransportKind transport = TransportKind::automatic;
  Seconds deadline{300};            // Of every wait for a peer that is alive.
  LinkLedger* emulation = nullptr;  // Delays every message; outlives the world.
};

// All ranks of a job, connected. What it opens ends before it.
class World {
 public:
  // Throws ConfigError when the ranks cannot use the transport asked for.
  World(std::unique_ptr<Membership> membership, WorldOptions options);

  const Job& job() const { return membership_->job(); }
  Health& health() { return membership_->health(); }
  TransportKind transport_kind() const { return options_.transport; }  // Never automatic.
  int ranks_on_this_host() const;
  std::vector<int> host_of() const;  // The host of each rank, numbered from 0.

  // The transport of all ranks; each of them calls it, with a channel that nothing else has.
  std::unique_ptr<Transport> open(unsigned channel = 0);

 private:
  std::unique_ptr<Membership> membership_;
  WorldOptions options_;
  std::unique_ptr<JobConnector> connector_;
};

// The cores that this process may use.
int usable_cores();

}  // namespace hocket
