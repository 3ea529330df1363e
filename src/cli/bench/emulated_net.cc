#include "cli/bench/emulated_net.h"

#include <sys/mman.h>

#include "base/error.h"

namespace hocket {
namespace {

std::byte* map_shared(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("cannot map {} bytes for emulated links", bytes);
  return static_cast<std::byte*>(memory);
}

}  // namespace

void EmulatedNet::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

EmulatedNet::EmulatedNet(std::string_view topology, int ranks)
    : topology_(open_topology(topology, ranks)),
      memory_(map_shared(LinkLedger::bytes_needed(topology_.links())),
              Unmap{LinkLedger::bytes_needed(topology_.links())}),
      ledger_(topology_.links(), std::span(memory_.get(), LinkLedger::bytes_needed(topology_.links()))) {}

}  // namespace hocket
