#include "runtime/lower.h"

#include <unordered_map>

#include "base/error.h"
#include "runtime/lowering.h"

namespace hocket {
namespace {

using Table = std::unordered_map<std::string_view, Lowering>;

Table make_table() {
  Table table;
  for (const auto list : {matrix_lowerings, sparse_lowerings, image_lowerings, normalisation_lowerings,
                          elementwise_lowerings, shape_lowerings, loss_lowerings, attention_lowerings,
                          update_lowerings, flat_lowerings, compression_lowerings}) {
    for (const Lowering& lowering : list()) table.emplace(lowering.op, lowering);
  }
  return table;
}

}  // namespace

Activation NodeView::activation() const {
  return node_.attributes.text("act", "none") == "relu" ? Activation::relu : Activation::none;
}

const Lowering* find_lowering(std::string_view op) {
  static const Table kTable = make_table();
  const auto at = kTable.find(op);
  return at == kTable.end() ? nullptr : &at->second;
}

std::unique_ptr<Kernel> lower(const Graph& graph, const Node& node, KernelSet set) {
  const Lowering* lowering = find_lowering(node.op->name());
  if (lowering == nullptr)
    throw ConfigError("node {}: operator {} has no kernel", node.name, node.op->name());
  try {
    return lowering->make(NodeView(graph, node, set));
  } catch (const ConfigError& error) {
    throw ConfigError("node {} ({}): {}", node.name, node.op->name(), error.what());
  }
}

}  // namespace hocket
