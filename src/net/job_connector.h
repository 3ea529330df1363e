#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "net/job.h"
#include "net/shm_connector.h"
#include "net/stream.h"

namespace hocket {

// Connects ranks by the fastest way that each pair has: shared memory within a host, `tcp` between hosts.
// `tcp`, which also carries the meeting of those who share memory, and `job` outlive it. Thread-safe across
// channels.
class JobConnector final : public Connector {
 public:
  JobConnector(const Job& job, Health& health, Connector& tcp)
      : job_(job), tcp_(tcp), shm_(tcp, job.rank, health) {}

  std::vector<std::vector<std::unique_ptr<Stream>>> connect(unsigned channel,
                                                            std::span<const Rank> members) override;
  std::unique_ptr<SharedMemory> share(unsigned channel, std::span<const Rank> members) override;

 private:
  std::vector<Rank> on_this_host(std::span<const Rank> members) const;

  const Job& job_;
  Connector& tcp_;
  ShmConnector shm_;
};

}  // namespace hocket
