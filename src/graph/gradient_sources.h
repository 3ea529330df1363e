#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/flat_buckets.h"

namespace hocket {

// What a gradient of a placed step is made of: its terms, and the nodes that the slices of a bucket replace.
// Nodes are numbers, kNone where there is none.
struct GradientSource {
  static constexpr int kNone = -1;

  ValueId terms = kNoValue;
  int maker = kNone;         // Of the terms.
  int reduction = kNone;     // all_reduce along dp.
  int accumulation = kNone;  // accumulate, with several micro-batches.
  int update = kNone;
};

// Where gradients, and the norm that clips them, come from. The graph must outlive it, unchanged.
class GradientSources {
 public:
  explicit GradientSources(const Graph& graph);

  // Nothing where the gradient is not a sum along dp.
  std::optional<GradientSource> source_of(ValueId parameter, const Gradient& gradient) const;

  int squares() const { return squares_; }        // The node that adds up squares to clip; kNone without.
  int stages_sum() const { return stages_sum_; }  // That which sums them over stages; kNone without.
  const Node& node(int index) const { return graph_.nodes()[static_cast<std::size_t>(index)]; }

 private:
  const Graph& graph_;
  std::vector<int> producers_;
  std::unordered_map<ValueId, int> accumulations_;  // By the sum.
  std::unordered_map<ValueId, int> updates_;        // By the parameter.
  int squares_ = GradientSource::kNone;
  int stages_sum_ = GradientSource::kNone;
};

}  // namespace hocket
