#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "collective/topology.h"
#include "net/emulation.h"

namespace hocket {

// Links of a topology, emulated between ranks of this host. Immutable but for the ledger, which is
// thread-safe.
class EmulatedNet {
 public:
  // Between ranks that this process starts, as threads or by fork(). `topology` as users type it. Throws
  // ConfigError.
  EmulatedNet(std::string_view topology, int ranks);
  // Between the processes of a job, each of which calls it, and forget_job() once all of them have.
  EmulatedNet(std::string_view topology, int ranks, std::uint64_t job);
  // Between processes that come and go, by a file that whoever starts them removes.
  EmulatedNet(std::string_view topology, int ranks, const std::filesystem::path& file);

  const Topology& topology() const { return topology_; }
  LinkLedger& ledger() { return ledger_; }
  static void forget_job(std::uint64_t job);

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };

  EmulatedNet(Topology topology, int file);

  Topology topology_;
  std::unique_ptr<std::byte, Unmap> memory_;  // That all ranks share.
  LinkLedger ledger_;
};

}  // namespace hocket
