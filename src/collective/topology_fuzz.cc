#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "collective/topology.h"

// A topology file: a tree whose links cost the same both ways, or refused with a ConfigError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const hocket::Topology topology = hocket::parse_topology(text, "fuzz");
    const hocket::Rank last = topology.world() - 1;
    const hocket::Link there = topology.link(0, last);
    const hocket::Link back = topology.link(last, 0);
    HOCKET_CHECK(there.alpha == back.alpha && there.beta == back.beta, "links differ by direction");
    HOCKET_CHECK(there.alpha.count() >= 0 && there.beta >= 0, "a negative cost");
    HOCKET_CHECK(!hocket::to_text(topology.first((last + 1) / 2 + 1)).empty(), "no text");
  } catch (const hocket::ConfigError&) {
  }
  return 0;
}
