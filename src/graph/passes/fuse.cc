// Fusion works on pairs: a producer whose first output has one user, and that user. The merged node stands
// where the user stood, takes over its output, and the producer disappears. One pair is swapped instead, and
// one producer is folded into its two users.
#include <algorithm>
#include <optional>

#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

constexpr double kDefaultEps = 1e-5;  // Of batch norm.

class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph), producer_(producers(graph)) { count_users(); }

  void run() {
    std::vector<Node>& nodes = graph_.nodes();
    dropped_.assign(nodes.size(), false);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].op->name() == "add")
        fuse_bias(nodes[i]) || fuse_residual(nodes[i]) || fuse_bn_input_gradient(nodes[i]);
      if (nodes[i].op->name() == "relu") fuse_relu(nodes[i]);
      if (nodes[i].op->name() == "relu_grad") swap_relu_and_pool_gradient(nodes[i]) || fuse_sum(nodes[i]);
      if (nodes[i].op->name() == "bn_dx") fold_relu_gradient(nodes[i]);
    }
    std::vector<Node> kept;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!dropped_[i]) kept.push_back(std::move(nodes[i]));
    }
    nodes = std::move(kept);
  }

 private:
  void count_users() {
    users_.assign(static_cast<std::size_t>(graph_.value_count()), 0);
    for (const Node& node : graph_.nodes()) {
      for (const ValueId id : node.inputs) ++users_[static_cast<std::size_t>(id)];
    }
    for (const auto& [name, id] : graph_.outputs()) ++users_[static_cast<std::size_t>(id)];
    for (const ValueId id : graph_.values_of(Role::gradient)) ++users_[static_cast<std::size_t>(id)];
  }

  // The node that computes `id`, when `user` alone uses it, in the same phase.
  Node* sole_producer(ValueId id, const Node& user) {
    const int index = producer_[static_cast<std::size_t>(id)];
    if (index < 0 || users_[static_cast<std::size_t>(id)] != 1) return nullptr;
    Node& node = graph_.nodes()[static_cast<std::size_t>(index)];
    return node.phase == user.phase && node.outputs[0] == id ? &node : nullptr;
  }

  // The node that computes `id`, when it is an `op`.
  Node* producer_of(ValueId id, std::string_view op) {
    const int index = producer_[static_cast<std::size_t>(id)];
    if (index < 0 || graph_.nodes()[static_cast<std::size_t>(index)].op->name() != op) return nullptr;
    return &graph_.nodes()[static_cast<std::size_t>(index)];
  }

  // Moves `producer` to where `user` stands, computing `user`'s output.
  void merge(Node& producer, Node& user) {
    const auto from = static_cast<std::size_t>(&producer - graph_.nodes().data());
    const auto to = static_cast<std::size_t>(&user - graph_.nodes().data());
    const std::vector<ValueId> outputs = user.outputs;
    const std::string name = user.name;
    user = std::move(producer);
    user.name = name;
    user.outputs[0] = outputs[0];
    dropped_[from] = true;
    for (const ValueId id : user.outputs) producer_[static_cast<std::size_t>(id)] = static_cast<int>(to);
  }

  // add(matmul(a, b), bias) with bias one value per column.
  bool fuse_bias(Node& add) {
    Node* matmul = sole_producer(add.inputs[0], add);
    if (matmul == nullptr || matmul->op->name() != "matmul" || matmul->inputs.size() != 2) return false;
    const Type& bias = graph_.value(add.inputs[1]).type;
    const Type& product = graph_.value(add.inputs[0]).type;
    if (bias.shape.rank() != 1 || bias.shape[0] != product.shape.back() || bias.dtype != product.dtype)
      return false;
    if (producer_[static_cast<std::size_t>(add.inputs[1])] >= 0) return false;
    matmul->inputs.push_back(add.inputs[1]);
    merge(*matmul, add);
    return true;
  }

  // add(bn_apply(…), residual) or add(bn_inference(…), residual), in either order, both of one type.
  bool fuse_residual(Node& add) {
    if (graph_.value(add.inputs[0]).type != graph_.value(add.inputs[1]).type) return false;
    for (const std::size_t first : {0, 1}) {
      Node* norm = sole_producer(add.inputs[first], add);
      if (norm == nullptr || norm->attributes.has("act")) continue;
      if (!(norm->op->name() == "bn_apply" && norm->inputs.size() == 4) &&
          !(norm->op->name() == "bn_inference" && norm->inputs.size() == 5))
        continue;
      norm->inputs.push_back(add.inputs[1 - first]);
      merge(*norm, add);
      return true;
    }
    return false;
  }

  // relu(f(…)) where f's kernel can clamp what it writes.
  void fuse_relu(Node& relu) {
    Node* node = sole_producer(relu.inputs[0], relu);
    if (node == nullptr || node->attributes.has("act")) return;
    const std::vector<std::string_view> names = node->op->attribute_names();
    if (std::find(names.begin(), names.end(), "act") == names.end()) return;
    node->attributes.set("act", std::string("relu"));
    merge(*node, relu);
  }

  // add(bn_apply_dx(dy, x, stats, gamma), bn_stats_dx(dstats, x, weight)), in either order.
  bool fuse_bn_input_gradient(Node& add) {
    for (const int first : {0, 1}) {
      Node* direct = sole_producer(add.inputs[static_cast<std::size_t>(first)], add);
      Node* through = sole_producer(add.inputs[static_cast<std::size_t>(1 - first)], add);
      if (direct == nullptr || direct->op->name() != "bn_apply_dx") continue;
      if (through == nullptr || through->op->name() != "bn_stats_dx" ||
          through->inputs[1] != direct->inputs[1])
        continue;
      direct->op = find_operator("bn_dx");
      direct->inputs.push_back(through->inputs[0]);
      direct->inputs.push_back(through->inputs[2]);
      dropped_[static_cast<std::size_t>(through - graph_.nodes().data())] = true;
      merge(*direct, add);
      return true;
    }
    return false;
  }

  // relu_grad(max_pool_dx(dy, index), x) with x what was pooled is max_pool_dx(relu_grad(dy, pooled), index):
  // the maximum of a window is above zero where the element it came from is. The smaller tensor is masked.
  bool swap_relu_and_pool_gradient(Node& relu_grad) {
    Node* pool_dx = sole_producer(relu_grad.inputs[0], relu_grad);
    if (pool_dx == nullptr || pool_dx->op->name() != "max_pool_dx") return false;
    const int index = producer_[static_cast<std::size_t>(pool_dx->inputs[1])];
    if (index < 0) return false;
    const Node& pool = graph_.nodes()[static_cast<std::size_t>(index)];
    if (pool.op->name() != "max_pool" || pool.inputs[0] != relu_grad.inputs[1]) return false;
    const ValueId dy = pool_dx->inputs[0];
    const ValueId masked = pool_dx->outputs[0];
    graph_.value(masked).type = graph_.value(dy).type;
    std::swap(pool_dx->op, relu_grad.op);
    std::swap(pool_dx->attributes, relu_grad.attributes);
    relu_grad.inputs = {masked, pool_dx->inputs[1]};
    pool_dx->inputs = {dy, pool.outputs[0]};
    return true;
  }

  // relu_grad(add(a, b), y), a and b of one type.
  bool fuse_sum(Node& relu_grad) {
    Node* add = sole_producer(relu_grad.inputs[0], relu_grad);
    if (add == nullptr || add->op->name() != "add" || relu_grad.inputs.size() != 2) return false;
    if (graph_.value(add->inputs[0]).type != graph_.value(add->inputs[1]).type) return false;
    relu_grad.inputs = {add->inputs[0], relu_grad.inputs[1], add->inputs[1]};
    dropped_[static_cast<std::size_t>(add - graph_.nodes().data())] = true;
    return true;
  }

  // bn_apply_grad(d, x, …) and bn_dx(d, x, …) with d = relu_grad(dy, y) and y = relu(bn_apply(x, …)): both
  // find from x where y was positive, and d is never stored.
  void fold_relu_gradient(Node& dx) {
    const ValueId d = dx.inputs[0];
    Node* relu_grad = producer_of(d, "relu_grad");
    if (relu_grad == nullptr || relu_grad->inputs.size() != 2 || users_[static_cast<std::size_t>(d)] != 2)
      return;
    const Node* norm = producer_of(relu_grad->inputs[1], "bn_apply");
    Node* grad = producer_of(dx.inputs[4], "bn_apply_grad");
    if (norm == nullptr || norm->inputs.size() != 4 || norm->attributes.text("act", "none") != "relu") return;
    if (grad == nullptr || grad->inputs[0] != d) return;
    for (Node* node : {grad, &dx}) {
      if (!std::equal(norm->inputs.begin(), norm->inputs.begin() + 3, node->inputs.begin() + 1)) return;
      if (node->attributes.real("eps", kDefaultEps) != norm->attributes.real("eps", kDefaultEps)) return;
    }
    for (Node* node : {grad, &dx}) {
      node->inputs[0] = relu_grad->inputs[0];
      node->inputs.push_back(norm->inputs[3]);
    }
    ++users_[static_cast<std::size_t>(relu_grad->inputs[0])];
    dropped_[static_cast<std::size_t>(relu_grad - graph_.nodes().data())] = true;
  }

  Graph& graph_;
  std::vector<int> producer_;
  std::vector<int> users_;
  std::vector<bool> dropped_;
};

}  // namespace

void fuse(Graph& graph) { Fusion(graph).run(); }

}  // namespace hocket
