#include <algorithm>

#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

// The side of the windows of a max_pool or its gradient that cover an image of `shape` without overlapping; 0
// for others.
std::int64_t covering_pool(const Node& pool, const Shape& shape) {
  const std::int64_t side = pool.attributes.integer("kernel", 0);
  const bool covers = pool.attributes.integer("stride", side) == side &&
                      pool.attributes.integer("padding", 0) == 0 && shape[2] % side == 0 &&
                      shape[3] % side == 0;
  return covers && side > 1 ? side : 0;
}

bool can_pool(const Node& convolution) { return convolution.attributes.integer("pool", 1) == 1; }

class PoolFusion {
 public:
  explicit PoolFusion(Graph& graph)
      : graph_(graph),
        makers_(producers(graph)),
        users_(static_cast<std::size_t>(graph.value_count())),
        is_kept_(static_cast<std::size_t>(graph.value_count()), false) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      for (const ValueId id : graph.nodes()[i].inputs) users_[static_cast<std::size_t>(id)].push_back(i);
    }
    for (const auto& [name, id] : graph.outputs()) is_kept_[static_cast<std::size_t>(id)] = true;
    for (const ValueId id : graph.values_of(Role::gradient)) is_kept_[static_cast<std::size_t>(id)] = true;
  }

  void run() {
    std::vector<Node>& nodes = graph_.nodes();
    std::vector<bool> dropped(nodes.size(), false);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].op->name() == "max_pool") dropped[i] = join_convolution(nodes[i]);
      if (nodes[i].op->name() == "max_pool_dx") dropped[i] = join_gradients(nodes[i]);
    }
    std::size_t i = 0;
    std::erase_if(nodes, [&](const Node&) { return dropped[i++]; });
  }

 private:
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  // max_pool(conv2d(…)), which nobody else reads.
  bool join_convolution(const Node& pool) {
    const ValueId image = pool.inputs[0];
    const int maker = makers_[static_cast<std::size_t>(image)];
    const std::int64_t side = covering_pool(pool, shape_of(image));
    if (side == 0 || maker < 0 || is_kept_[static_cast<std::size_t>(image)] ||
        users_[static_cast<std::size_t>(image)].size() != 1)
      return false;
    Node& convolution = graph_.nodes()[static_cast<std::size_t>(maker)];
    if (convolution.op->name() != "conv2d" || !can_pool(convolution) || convolution.phase != pool.phase)
      return false;
    convolution.attributes.set("pool", side);
    convolution.outputs = pool.outputs;
    convolution.name = pool.name;
    return true;
  }

  // conv2d_dx and conv2d_dw of max_pool_dx(…), which nobody else reads.
  bool join_gradients(const Node& pool_dx) {
    const ValueId image = pool_dx.outputs[0];
    const std::int64_t side = covering_pool(pool_dx, shape_of(image));
    if (side == 0 || is_kept_[static_cast<std::size_t>(image)]) return false;
    const std::vector<std::size_t>& users = users_[static_cast<std::size_t>(image)];
    const bool all_can = std::all_of(users.begin(), users.end(), [&](std::size_t i) {
      const Node& user = graph_.nodes()[i];
      return (user.op->name() == "conv2d_dx" || user.op->name() == "conv2d_dw") && can_pool(user) &&
             user.inputs[0] == image && user.inputs[1] != image && user.phase == pool_dx.phase;
    });
    if (!all_can) return false;
    for (const std::size_t i : users) {
      Node& user = graph_.nodes()[i];
      user.attributes.set("pool", side);
      user.inputs[0] = pool_dx.inputs[0];
      user.inputs.push_back(pool_dx.inputs[1]);
    }
    return true;
  }

  Graph& graph_;
  std::vector<int> makers_;
  std::vector<std::vector<std::size_t>> users_;
  std::vector<bool> is_kept_;
};

}  // namespace

void fuse_pools(Graph& graph) { PoolFusion(graph).run(); }

}  // namespace hocket
