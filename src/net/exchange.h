#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace hocket {

// Gives every rank's bytes to every rank, by rank: how a foreign launcher (MPI, PMI) lets ranks meet. Every
// rank calls it the same number of times. Throws NetError.
using Exchange = std::function<std::vector<std::vector<std::byte>>(std::span<const std::byte> mine)>;

}  // namespace hocket
