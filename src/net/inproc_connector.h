#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "net/ring_stream.h"
#include "net/stream.h"

namespace hocket {

// The rings and board of a channel, in the memory of this process.
struct InprocChannel;

// Where the ranks of a job that are threads of one process find each other. Thread-safe.
class InprocHub {
 public:
  std::shared_ptr<InprocChannel> channel(unsigned channel, std::span<const Rank> members);

 private:
  std::mutex mutex_;
  std::map<std::pair<unsigned, Rank>, std::shared_ptr<InprocChannel>> channels_;  // By its lowest rank, too.
};

// Connects rank `me` of the hub's job to the others.
class InprocConnector final : public Connector {
 public:
  InprocConnector(InprocHub& hub, Rank me) : hub_(hub), me_(me) {}

  std::vector<std::vector<std::unique_ptr<Stream>>> connect(unsigned channel,
                                                            std::span<const Rank> members) override;
  std::unique_ptr<SharedMemory> share(unsigned channel, std::span<const Rank> members) override;

 private:
  InprocHub& hub_;
  Rank me_;
};

}  // namespace hocket
