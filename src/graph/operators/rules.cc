#include "graph/operators/rules.h"

namespace hocket {

PlacementRule uniform_rule(int inputs, int outputs, Placement placement) {
  return {std::vector<Placement>(static_cast<std::size_t>(inputs), placement),
          std::vector<Placement>(static_cast<std::size_t>(outputs), placement)};
}

PlacementRules same_cut(int inputs, int outputs, int rank) {
  PlacementRules rules;
  for (int dim = 0; dim < rank; ++dim) rules.push_back(uniform_rule(inputs, outputs, sharded(dim)));
  return rules;
}

void divide_attribute(Node& node, std::string_view key, int ranks) {
  node.attributes.set(key, node.attributes.integer(key, 1) / ranks);
}

void divide_entry(Node& node, std::string_view key, const Placement& placement, int ranks) {
  const auto* cut = std::get_if<Sharded>(&placement);
  if (cut == nullptr) return;
  IntList list = node.attributes.list(key);
  std::int64_t& entry = list[static_cast<std::size_t>(cut->dim)];
  if (entry == -1) return;
  entry /= ranks;
  node.attributes.set(key, list);
}

void choose_part(Node& node, AxisShare share) {
  node.attributes.set("part", node.attributes.integer("part", 0) * share.count + share.index);
}

void count_parts(Node& node, AxisShare share) {
  node.attributes.set("parts", node.attributes.integer("parts", 1) * share.count);
}

}  // namespace hocket
