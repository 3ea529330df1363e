#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/operator.h"
#include "runtime/lower.h"
#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

namespace hocket {

// A node as the lowering sees it: types, layouts and attributes of its operands, and the set to take kernels
// from.
class NodeView {
 public:
  NodeView(const Graph& graph, const Node& node, KernelSet set) : graph_(graph), node_(node), set_(set) {}

  std::string_view op() const { return node_.op->name(); }
  int in_count() const { return static_cast<int>(node_.inputs.size()); }
  const ValueInfo& in(int i) const { return graph_.value(node_.inputs[static_cast<std::size_t>(i)]); }
  const ValueInfo& out(int i) const { return graph_.value(node_.outputs[static_cast<std::size_t>(i)]); }
  const Shape& in_shape(int i) const { return in(i).type.shape; }
  const Shape& out_shape(int i) const { return out(i).type.shape; }
  DType in_dtype(int i) const { return in(i).type.dtype; }
  DType out_dtype(int i) const { return out(i).type.dtype; }
  const Attributes& attributes() const { return node_.attributes; }
  std::int64_t integer(std::string_view key, std::int64_t otherwise = 0) const {
    return node_.attributes.integer(key, otherwise);
  }
  double real(std::string_view key, double otherwise) const { return node_.attributes.real(key, otherwise); }
  Activation activation() const;
  KernelSet set() const { return set_; }

 private:
  const Graph& graph_;
  const Node& node_;
  KernelSet set_;
};

// How the nodes of one operator become kernels.
struct Lowering {
  std::string_view op;
  std::unique_ptr<Kernel> (*make)(const NodeView& node);
};

const Lowering* find_lowering(std::string_view op);  // Null when there is none.

// One list per source file lower_….cc.
std::vector<Lowering> matrix_lowerings();
std::vector<Lowering> sparse_lowerings();
std::vector<Lowering> image_lowerings();
std::vector<Lowering> normalisation_lowerings();
std::vector<Lowering> elementwise_lowerings();
std::vector<Lowering> shape_lowerings();
std::vector<Lowering> loss_lowerings();
std::vector<Lowering> attention_lowerings();
std::vector<Lowering> update_lowerings();
std::vector<Lowering> flat_lowerings();
std::vector<Lowering> compression_lowerings();

// Lowers by `spec(node)`: to the fast kernel where it is wanted and supports the case, else to the naive one.
template <auto fast, auto reference, auto spec>
std::unique_ptr<Kernel> choose(const NodeView& node) {
  const auto prepared = spec(node);
  if (node.set() == KernelSet::fast) {
    if (std::unique_ptr<Kernel> kernel = fast(prepared)) return kernel;
  }
  return reference(prepared);
}

}  // namespace hocket
