#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "net/health.h"
#include "net/mapped_memory.h"
#include "net/ring_stream.h"
#include "net/stream.h"

namespace hocket {

class ShmArenas;

// Connects ranks of one host by rings in shared memory. Its members find each other's memory through the
// streams of `exchange`, which are authenticated; they then close them. `exchange` and `health` outlive it.
// Thread-safe across channels.
class ShmConnector final : public Connector {
 public:
  // `arena_bytes`: how much allocate() can ever give; it is not taken before it is used.
  ShmConnector(Connector& exchange, Rank me, Health& health, std::size_t arena_bytes = default_arena_bytes());
  ~ShmConnector() override;

  std::vector<std::vector<std::unique_ptr<Stream>>> connect(unsigned channel,
                                                            std::span<const Rank> members) override;
  std::unique_ptr<SharedMemory> share(unsigned channel, std::span<const Rank> members) override;

  static std::size_t default_arena_bytes();  // As much as the machine has memory.

 private:
  struct Channel;

  Connector& exchange_;
  Rank me_;
  Health& health_;
  std::shared_ptr<ShmArenas> arenas_;
  std::mutex mutex_;
  std::map<unsigned, std::shared_ptr<Channel>> channels_;  // Connected but not yet shared.
};

}  // namespace hocket
