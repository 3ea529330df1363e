#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace hocket {

// Who takes part in a parameter-server run. The coordinator decides who is live; the recorder starts and ends
// the training, evaluates and writes files.
enum class NodeKind : std::uint8_t { coordinator, server, worker, recorder };

struct NodeId {
  NodeKind kind = NodeKind::coordinator;
  int index = 0;

  auto operator<=>(const NodeId&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 errs.
};

inline NodeId server_node(int index) { return {NodeKind::server, index}; }
inline NodeId worker_node(int index) { return {NodeKind::worker, index}; }
inline constexpr NodeId kCoordinator{NodeKind::coordinator, 0};
inline constexpr NodeId kRecorder{NodeKind::recorder, 0};

std::string to_string(const NodeId& node);  // "server 1"

}  // namespace hocket
