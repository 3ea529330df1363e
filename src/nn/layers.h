#pragma once

#include "nn/builder.h"

// Layers as functions from values to values. Parameters are named weight and bias within the builder's scope.
namespace hocket {

// How a tensor-parallel axis cuts the weight (outputs, inputs, …) of a layer: by outputs, and the bias with
// it, or by inputs, so that each rank has a term of the outputs.
enum class Cut : std::uint8_t { none, outputs, inputs };

struct LinearOptions {
  bool bias = true;
  Cut cut = Cut::none;
};

struct ConvOptions {
  std::int64_t kernel = 3, stride = 1, padding = 1, groups = 1;
  bool bias = true;
  Cut cut = Cut::none;
};

struct EmbeddingOptions {
  bool sparse = false;
  bool cuts_vocabulary = false;  // By a tensor-parallel axis.
};

// y = x Wᵀ + b        x: (…, in)   W: (out, in)   b: (out)   y: (…, out)
Value linear(Builder& b, Value x, std::int64_t out, const LinearOptions& options = {});
// x: (N, C, H, W)   W: (out, C/groups, k, k)   b: (out)
Value conv(Builder& b, Value x, std::int64_t out, const ConvOptions& options = {});
// Over all but the channels of (N, C, H, W), with running statistics for evaluation.
// Cut by outputs it takes channels that the layer before has cut so.
Value batch_norm(Builder& b, Value x, Cut cut = Cut::none);
// Over the last dimension.
Value layer_norm(Builder& b, Value x);
// ids: (…) → (…, width)
Value embedding(Builder& b, Value ids, std::int64_t vocabulary, std::int64_t width,
                const EmbeddingOptions& options = {});
// Multi-head attention with its projections, cut by heads.   x: (N, T, C)
Value self_attention(Builder& b, Value x, std::int64_t heads, bool causal);

Value relu(Builder& b, Value x);
Value max_pool(Builder& b, Value x, std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0);
Value dropout(Builder& b, Value x, double rate);
Value flatten(Builder& b, Value x);  // (N, …) → (N, product)

}  // namespace hocket
