#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/operator.h"

namespace hocket {

// No tensor has more elements; so sums of byte counts over a graph cannot overflow.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

// Elements that square_sums adds up at a time.
inline constexpr std::int64_t kSquareBlock = 1024;

// The type of a result. Throws ConfigError unless every dimension is positive and the elements are at most
// kMaxElements.
Type make_type(DType dtype, const Shape& shape);

// The dimensions of `shape` as an attribute.
IntList dims_of(const Shape& shape);

// Attributes of a node whose value must make sense. Each throws ConfigError otherwise.
std::int64_t integer_from(const Node& node, std::string_view key, std::int64_t otherwise, std::int64_t least);
std::int64_t required_integer(const Node& node, std::string_view key, std::int64_t least);
bool flag(const Node& node, std::string_view key, bool otherwise = false);
double real_between(const Node& node, std::string_view key, double otherwise, double least, double most);
Shape shape_attribute(const Node& node, std::string_view key);
int axis_of(std::int64_t axis, int rank);  // Counted from the end when it is negative.
bool has_relu(const Node& node);           // act=relu rather than act=none.
void expect_part(const Node& node);        // `part`: see choose_part().
void expect_parts(const Node& node);       // `part` of `parts`: see count_parts().

// The operands of a node while its outputs are inferred: every check throws ConfigError with the operand's
// name. `names` are those of docs/OPERATORS.md, the last `optional` of which may be left out.
class Operands {
 public:
  Operands(std::span<const Type> types, std::initializer_list<std::string_view> names,
           std::size_t optional = 0);
  Operands(std::span<const Type> types, std::vector<std::string_view> names, std::size_t optional = 0);

  bool has(int i) const { return static_cast<std::size_t>(i) < types_.size(); }
  const Type& type(int i) const { return types_[static_cast<std::size_t>(i)]; }
  const Shape& shape(int i) const { return type(i).shape; }
  DType dtype(int i) const { return type(i).dtype; }
  std::string_view name(int i) const { return names_[static_cast<std::size_t>(i)]; }

  void expect_rank(int i, int rank) const;
  void expect_rank_from(int i, int least) const;
  void expect_shape(int i, const Shape& shape) const;
  void expect_dtype(int i, DType dtype) const;
  void expect_float(int i) const;                // f32 or f64.
  void expect_like(int i, int other) const;      // The same dtype and shape.
  void expect_dtype_of(int i, int other) const;  // The same dtype.

 private:
  std::span<const Type> types_;
  std::vector<std::string_view> names_;
};

// The values of a node while its gradient is added: a copy, because adding nodes may move the node itself.
class Backward {
 public:
  Backward(Graph& graph, const Node& node);

  Value in(int i) const { return in_[static_cast<std::size_t>(i)]; }
  Value out(int i) const { return out_[static_cast<std::size_t>(i)]; }
  int in_count() const { return static_cast<int>(in_.size()); }
  const Attributes& attributes() const { return attributes_; }

  // Applies `op`; the result is named after input `i`, whose gradient it is or leads to.
  Value add(int i, std::string_view op, std::initializer_list<Value> inputs,
            Attributes attributes = {}) const;
  std::vector<Value> apply(int i, std::string_view op, std::initializer_list<Value> inputs,
                           Attributes attributes = {}) const;

  // `gradient` summed to the shape of input `i`, and cast to its dtype, where they differ.
  Value summed_to(int i, Value gradient) const;
  Value cast_to(int i, Value gradient) const;

  // The gradient of what the fused activation was applied to.
  Value before_activation(Value dy) const;

 private:
  Graph& graph_;
  std::vector<Value> in_, out_;
  Attributes attributes_;
};

// The first gradient. Throws ConfigError when the loss depends on another output: those are by-products.
Value only_first(const Node& node, std::span<const Value> dy);

}  // namespace hocket
