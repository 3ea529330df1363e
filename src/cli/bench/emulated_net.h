#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "collective/topology.h"
#include "net/emulation.h"

namespace hocket {

// Links of a topology, emulated between ranks that this process starts, as threads or by fork(). Immutable
// but for the ledger, which is thread-safe.
class EmulatedNet {
 public:
  // `topology` as users type it. Throws ConfigError.
  EmulatedNet(std::string_view topology, int ranks);

  const Topology& topology() const { return topology_; }
  LinkLedger& ledger() { return ledger_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };

  Topology topology_;
  std::unique_ptr<std::byte, Unmap> memory_;  // Shared with the processes that are forked.
  LinkLedger ledger_;
};

}  // namespace hocket
