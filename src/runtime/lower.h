#pragma once

#include <cstdint>
#include <memory>

#include "graph/graph.h"
#include "tensor/kernel.h"

namespace hocket {

enum class KernelSet : std::uint8_t {
  fast,       // oneDNN and vector code where they support the case, else the reference.
  reference,  // The naive kernels: slow, in f32 and f64, obviously right.
};

// The kernel of one node, prepared for the types, layouts and attributes that stand in the graph. Its
// operands are the node's, in order. Thread-safe. Throws ConfigError for an operator, dtype or layout that
// has no kernel.
std::unique_ptr<Kernel> lower(const Graph& graph, const Node& node, KernelSet set);

}  // namespace hocket
