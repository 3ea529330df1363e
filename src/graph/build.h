#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

// What models are built with: each function adds one node to the graph of its operands and returns the first
// output. docs/OPERATORS.md gives the formulas. An operand called `bias` may be a null Value. Each throws
// ConfigError as Graph::apply does. Without a name a node is called after its operator.
namespace hocket {

struct Conv2dOptions {
  std::int64_t stride = 1, padding = 0, groups = 1;
};

struct PoolOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 0;  // 0: the kernel's size.
  std::int64_t padding = 0;
};

// Matrices and convolutions.
Value matmul(Value a, Value b, bool ta = false, bool tb = false, std::string_view name = {});
Value matmul_nt(Value x, Value w, std::string_view name = {});  // x·wᵀ
Value conv2d(Value x, Value w, Value bias = {}, const Conv2dOptions& options = {},
             std::string_view name = {});
Value csr_matmul(Value values, Value columns, Value offsets, Value w, std::string_view name = {});

// Pooling and normalisation.
Value max_pool(Value x, const PoolOptions& options, std::string_view name = {});
Value avg_pool(Value x, const PoolOptions& options, std::string_view name = {});
Value global_avg_pool(Value x, std::string_view name = {});
Value bn_stats(Value x, Value weight, std::string_view name = {});
Value bn_apply(Value x, Value stats, Value gamma, Value beta, double eps = 1e-5, std::string_view name = {});
void bn_running(Value stats, Value mean, Value variance, double momentum = 0.1, std::string_view name = {});
Value layer_norm(Value x, Value gamma, Value beta, double eps = 1e-5, std::string_view name = {});

// Element by element.
Value add(Value a, Value b, std::string_view name = {});
Value sub(Value a, Value b, std::string_view name = {});
Value mul(Value a, Value b, std::string_view name = {});
Value div(Value a, Value b, std::string_view name = {});
inline Value operator+(Value a, Value b) { return add(a, b); }
inline Value operator-(Value a, Value b) { return sub(a, b); }
inline Value operator*(Value a, Value b) { return mul(a, b); }
inline Value operator/(Value a, Value b) { return div(a, b); }
Value scale(Value x, double factor, double offset = 0, std::string_view name = {});
Value relu(Value x, std::string_view name = {});
Value tanh(Value x, std::string_view name = {});
Value sigmoid(Value x, std::string_view name = {});
Value gelu(Value x, std::string_view name = {});
Value exp(Value x, std::string_view name = {});
Value dropout(Value x, Value key, double rate, std::int64_t stream, std::string_view name = {});
Value cast(Value x, DType dtype, std::string_view name = {});

// Shape.
Value reshape(Value x, IntList shape, std::string_view name = {});
Value flatten(Value x, std::string_view name = {});  // (N, …) → (N, the rest)
Value transpose(Value x, IntList perm, std::string_view name = {});
Value slice(Value x, IntList begin, IntList end, IntList step = {}, std::string_view name = {});
Value pad(Value x, IntList before, IntList after, std::string_view name = {});
Value concat(std::span<const Value> parts, std::int64_t axis, std::string_view name = {});
Value broadcast_to(Value x, IntList shape, std::string_view name = {});
Value reduce_sum(Value x, IntList axes, bool keep = false, std::string_view name = {});
Value reduce_mean(Value x, IntList axes, bool keep = false, std::string_view name = {});
Value reduce_max(Value x, IntList axes, bool keep = false, std::string_view name = {});
Value argmax(Value x, std::string_view name = {});

// Losses and the like.
Value softmax(Value x, std::string_view name = {});
Value log_softmax(Value x, std::string_view name = {});
Value softmax_cross_entropy(Value logits, Value label, Value weight, std::string_view name = {});
Value sigmoid_cross_entropy(Value x, Value label, Value weight, std::string_view name = {});
Value hinge(Value x, Value label, Value weight, std::string_view name = {});
Value squared_error(Value x, Value label, Value weight, std::string_view name = {});
Value count_correct(Value x, Value label, Value weight, std::string_view name = {});
Value embedding(Value table, Value ids, std::string_view name = {});
Value attention(Value qkv, std::int64_t heads, bool causal = true, std::string_view name = {});

}  // namespace hocket
