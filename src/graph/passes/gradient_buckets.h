#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/operator.h"

// What the passes that sum gradients in buckets have in common.
namespace hocket {

// all_reduce nodes of one operand each, of gradients whose parameters follow each other.
struct GradientBucket {
  std::vector<int> reductions;  // In the order of their parameters; alike in attributes and dtype.
  int last_producer = -1;       // Of their terms; -1 when these are sources.
  int first_reduction = 0;
};

// The last parameters' bucket comes first: backward makes their gradients first. Each has at least `bytes`,
// but for the last one and where gradients of another kind lie between.
std::vector<GradientBucket> find_gradient_buckets(const Graph& graph, std::span<const Gradient> gradients,
                                                  std::size_t bytes);

// What takes the place of a bucket's reductions. The sums are made by the last of these nodes.
struct BucketNodes {
  std::vector<Node> start;   // Right behind the node that makes the last term, in its phase.
  std::vector<Node> finish;  // In the update phase.
};

// `nodes` are of the buckets. Updates then run in the order in which buckets arrive.
void replace_reductions(Graph& graph, std::span<const GradientBucket> buckets,
                        std::vector<BucketNodes> nodes);

// One all_reduce of all the bucket's terms.
Node joined_reduction(const Graph& graph, const GradientBucket& bucket, std::size_t number);

// The phase in which a bucket's last term is made.
Phase phase_of(const Graph& graph, const GradientBucket& bucket);

}  // namespace hocket
