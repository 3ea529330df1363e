#include "ps/node_id.h"

#include <fmt/format.h>

namespace hocket {

std::string to_string(const NodeId& node) {
  switch (node.kind) {
    case NodeKind::coordinator: return "the coordinator";
    case NodeKind::server: return fmt::format("server {}", node.index);
    case NodeKind::worker: return fmt::format("worker {}", node.index);
    case NodeKind::recorder: break;
  }
  return "the recorder";
}

}  // namespace hocket
