#include "graph/passes/gradient_buckets.h"
#include "graph/passes/passes.h"

namespace hocket {

void bucket_gradients(Graph& graph, std::span<const Gradient> gradients, std::size_t bytes) {
  const std::vector<GradientBucket> buckets = find_gradient_buckets(graph, gradients, bytes);
  std::vector<BucketNodes> nodes;
  for (std::size_t i = 0; i < buckets.size(); ++i)
    nodes.push_back({{joined_reduction(graph, buckets[i], i)}, {}});
  replace_reductions(graph, buckets, std::move(nodes));
}

}  // namespace hocket
