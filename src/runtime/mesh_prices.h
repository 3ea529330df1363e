#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "collective/choose.h"
#include "collective/topology.h"
#include "graph/mesh.h"

namespace hocket {

// What one collective along an axis of a mesh would cost.
struct MeshPrice {
  Algorithm algorithm = Algorithm::ring;  // The quickest one.
  double seconds = 0;
  std::array<std::uint64_t, kLevels> bytes{};  // That leave a node of each level, of all ranks together.
};

// Prices the collectives of a mesh whose rank r is rank r of a topology. All groups of an axis communicate at
// the same time, as those of a step do, and share the links. Remembers what it has priced; used by one
// thread.
class MeshPrices {
 public:
  // Throws ConfigError where the mesh has more ranks than can be replayed in reasonable time.
  MeshPrices(Mesh mesh, Topology topology);

  const Mesh& mesh() const { return mesh_; }
  const Topology& topology() const { return topology_; }

  // `bytes` are those of the collective's whole vector, of 4-byte elements.
  const MeshPrice& price(Collective collective, std::size_t bytes, std::string_view axis);

 private:
  MeshPrice replay(Collective collective, std::size_t bytes, std::string_view axis) const;

  Mesh mesh_;
  Topology topology_;
  std::map<std::tuple<Collective, std::size_t, std::string>, MeshPrice> known_;
};

}  // namespace hocket
