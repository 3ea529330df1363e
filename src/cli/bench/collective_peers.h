#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/bench/collective_figures.h"

namespace hocket {

// Another system with one of its settings, as a program that all-reduces f32 vectors of some sizes and prints
// a line of figures for each.
struct CollectivePeer {
  std::string name;  // "gloo", "openmpi", "openmpi-tcp".
  std::string transport;
  std::string setting;                 // Comes before the algorithm that the program names.
  std::vector<std::string> arguments;  // The program first; sizes and seconds follow.
};

// Every setting of every peer that is worth a try with so many ranks on so many cores. `folder` holds the
// peers' programs. What is missing is left out; `missing` receives a line for each.
std::vector<CollectivePeer> collective_peers(const std::filesystem::path& folder, int ranks, int cores,
                                             std::vector<std::string>& missing);

// One run. Throws Error when the peer fails or hangs.
std::vector<CollectiveFigures> run_collective_peer(const CollectivePeer& peer,
                                                   const std::vector<std::size_t>& bytes, double seconds);

}  // namespace hocket
