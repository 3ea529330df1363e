#include "graph/operator.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "graph/operators/lists.h"

namespace hocket {
namespace {

const OperatorList& all_operators() {
  static const OperatorList kOperators = [] {
    OperatorList all;
    for (const auto list :
         {matrix_operators, sparse_operators, conv_operators, pool_operators, batch_norm_operators,
          layer_norm_operators, elementwise_operators, shape_operators, broadcast_operators, reduce_operators,
          softmax_operators, loss_operators, embedding_operators, attention_operators, update_operators,
          flat_operators, compression_operators, communication_operators}) {
      const OperatorList part = list();
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kOperators;
}

}  // namespace

std::vector<Gradient> Operator::gradient(Graph&, const Node& node, std::span<const Value>) const {
  throw ConfigError("node {}: operator {} cannot be differentiated", node.name, name());
}

std::vector<PlacementRule> Operator::placements(const Node&, std::span<const Type>) const { return {}; }

void Operator::localize(Node&, const PlacementRule&, AxisShare) const {}

double Operator::flops(const Node&, std::span<const Type> inputs, std::span<const Type> outputs) const {
  std::int64_t most = 0;  // One operation for each element of the largest operand.
  for (const Type& type : inputs) most = std::max(most, type.shape.count());
  for (const Type& type : outputs) most = std::max(most, type.shape.count());
  return static_cast<double>(most);
}

const Operator* find_operator(std::string_view name) {
  static const std::unordered_map<std::string_view, const Operator*> kByName = [] {
    std::unordered_map<std::string_view, const Operator*> by_name;
    for (const Operator* op : all_operators()) by_name.emplace(op->name(), op);
    return by_name;
  }();
  const auto at = kByName.find(name);
  return at == kByName.end() ? nullptr : at->second;
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const Operator* op : all_operators()) names.push_back(op->name());
  return names;
}

}  // namespace hocket
