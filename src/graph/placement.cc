#include "graph/placement.h"

#include <fmt/format.h>

namespace hocket {

std::string to_string(const Placement& placement) {
  struct Name {
    std::string operator()(Replicated) const { return "replicated"; }
    std::string operator()(Sharded cut) const { return fmt::format("sharded({})", cut.dim); }
    std::string operator()(Flat) const { return "flat"; }
    std::string operator()(Partial partial) const {
      return partial.reduction == Reduction::max ? "partial(max)" : "partial(sum)";
    }
    std::string operator()(Local) const { return "local"; }
  };
  return std::visit(Name{}, placement);
}

}  // namespace hocket
