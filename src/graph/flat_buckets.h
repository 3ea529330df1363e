#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/mesh.h"
#include "graph/operator.h"

// ZeRO: parameters that follow each other make a bucket, one padded vector, and every rank along dp owns a
// slice of it. Level 1 shards the optimizer state so, level 2 the gradients too, level 3 also the parameters.
namespace hocket {

struct FlatMember {
  std::string name;        // Of the parameter.
  Type type;               // As this rank would have it.
  std::int64_t begin = 0;  // Elements before it in its bucket.
};

struct FlatBucket {
  std::string name;  // Of the parameter that stands for all of them.
  DType dtype = DType::f32;
  std::int64_t slice = 0;  // Elements that each rank owns.
  std::vector<FlatMember> members;
};

struct ZeroOptions {
  int level = 0;
  AxisShare share{};                                // Along dp.
  std::size_t bucket_bytes = std::size_t{1} << 22;  // At least so much in a bucket.
};

// The buckets of a placed step: all parameters whose gradients are summed along dp, those of different chunks
// of a pipeline apart.
std::vector<FlatBucket> make_flat_buckets(const Graph& graph, std::span<const Gradient> gradients,
                                          const ZeroOptions& options);

// Of a collective between the ranks that have the slices.
Attributes along_dp(const ZeroOptions& options);
// Elements of a vector, from `begin` on, in this shape.
Value view_of_vector(Graph& graph, Value vector, std::int64_t begin, const Shape& shape,
                     const std::string& name);
// The parameter that stands for the bucket; made where it is missing.
Value bucket_source(Graph& graph, const FlatBucket& bucket, const ZeroOptions& options);

// Lets a graph use the buckets in place of their members; at level 3 each phase gathers a bucket before its
// first use, and one ahead of it.
void use_flat_buckets(Graph& graph, std::span<const FlatBucket> buckets, const ZeroOptions& options);

// The same for a training step, whose gradients are then summed into slices, and slices updated and, below
// level 3, gathered. Returns the gradients of the parameters that the graph then has.
std::vector<Gradient> shard_step(Graph& graph, std::span<const Gradient> gradients,
                                 std::span<const FlatBucket> buckets, const ZeroOptions& options);

}  // namespace hocket
