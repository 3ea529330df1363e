#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/placement.h"

namespace hocket {

// The gradient of one operand: nothing, a dense value, or (for a sparse table) rows with the ids they belong
// to.
struct Gradient {
  Value value;
  Value row_ids;  // Set for a row-sparse gradient: `value` is (rows, width), row i belongs to row_ids[i], -1
                  // pads.
};

// A kind of computation: shapes, gradient and legal placements, without state. Immutable, one object per
// kind. docs/OPERATORS.md gives the formula, operands and attributes of each.
class Operator {
 public:
  virtual ~Operator() = default;
  virtual std::string_view name() const = 0;

  // The names of the attributes that a node of this kind may have.
  virtual std::vector<std::string_view> attribute_names() const { return {}; }

  // The types of the outputs; throws ConfigError saying what does not fit (the graph adds the node and its
  // operands).
  virtual std::vector<Type> infer(const Node& node, std::span<const Type> inputs) const = 0;

  // Adds to `graph` what computes the gradients of the inputs from those of the outputs (`dy`, null where the
  // loss does not depend on an output). One entry per input. The default says that the operator cannot be
  // differentiated.
  virtual std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const;

  // The legal ways to run it along a mesh axis besides everything replicated.
  virtual std::vector<PlacementRule> placements(const Node& node, std::span<const Type> inputs) const;

  // Turns `node` into one rank's share of itself when it runs by `rule` along an axis: cuts shapes that stand
  // in attributes, counts heads, says which rows of a table are here. The default leaves it as it is.
  virtual void localize(Node& node, const PlacementRule& rule, AxisShare share) const;

  // The inputs that it updates in place.
  virtual std::vector<int> updates() const { return {}; }

  // Whether it is there for more than its outputs, and so never dead.
  virtual bool has_effect() const { return !updates().empty(); }

  // Multiply-adds count as two. For planning and for `hocket models`.
  virtual double flops(const Node& node, std::span<const Type> inputs, std::span<const Type> outputs) const;
};

// Null when there is no operator of that name.
const Operator* find_operator(std::string_view name);
std::vector<std::string_view> operator_names();

}  // namespace hocket
