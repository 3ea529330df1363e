#pragma once

#include <span>
#include <vector>

#include "graph/arena_layout.h"
#include "graph/graph.h"
#include "graph/operator.h"

namespace hocket {

// Which memory a value lives in.
enum class Space : std::uint8_t {
  input,      // Bound per call; the offset is the input's number.
  parameter,  // The four arenas of StepLayouts; gradients lie as their parameters do.
  buffer,
  state,
  gradient,
  slot,  // Activations that live from one phase to another: one arena per activation slot.
  work,  // Activations of one phase alone: one arena for all slots.
};
inline constexpr int kSpaces = 7;

struct Location {
  Space space = Space::work;
  std::size_t offset = 0;
  bool operator==(const Location&) const = default;
};

// Where every value of a graph lies. Values whose lifetimes do not overlap share memory; reshapes share their
// operand's; element-wise operators write over an operand that nobody needs afterwards. What is sent to
// another stage shares its memory with nothing else.
struct MemoryPlan {
  std::vector<Location> locations;  // By ValueId.
  std::vector<ValueId> inputs;      // The inputs in the order of their numbers.
  std::size_t slot_bytes = 0;
  std::size_t work_bytes = 0;
  std::size_t activation_bytes = 0;  // What the activations would take without sharing.
};

// `gradients` has one entry per parameter (or is empty when the graph has no backward phase).
MemoryPlan plan_memory(const Graph& graph, const StepLayouts& layouts, std::span<const Gradient> gradients);

// True when the node's output is its operand's very bytes, so that no kernel needs to run.
bool is_alias(const Graph& graph, const Node& node);

}  // namespace hocket
