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

}  // namespace hocket
