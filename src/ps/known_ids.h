#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ps/payload.h"

namespace hocket {

// The lists of ids that went one way over a connection lately, the same at both of its ends: one that comes
// again, as that of a push after its pull or for the next table of a model, travels as its number (M. Li et
// al., OSDI 2014: key caching). Used by one thread.
class KnownIds {
 public:
  std::optional<std::uint8_t> find(std::span<const std::byte> ids) const;
  const Payload* at(std::uint8_t number) const;  // Null where there is none.
  void add(std::span<const std::byte> ids);      // In place of the oldest.

 private:
  std::array<Payload, 8> lists_;
  std::size_t next_ = 0;
};

}  // namespace hocket
