#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/attributes.h"
#include "tensor/dtype.h"
#include "tensor/layout.h"
#include "tensor/shape.h"

namespace hocket {

class Graph;
class Operator;

// The parts of a step that the runtime invokes one by one.
enum class Phase : std::uint8_t { forward, backward, update };
inline constexpr int kPhases = 3;

// What a value is, and so which memory it lives in.
enum class Role : std::uint8_t {
  input,       // Bound per call: a field of the batch, sample weights, the random key, the learning rate.
  parameter,   // Trained; bound per call, so that several versions may exist.
  buffer,      // Kept between steps but not trained: running statistics.
  state,       // The optimizer's, one tensor per parameter and slot.
  activation,  // Computed by a node within the step.
  gradient,    // Of a parameter: an activation that is kept for the update phase.
};

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const Type&) const = default;
};
std::string to_string(const Type& type);  // As in "f32[128,10]".
inline std::size_t bytes_of(const Type& type) {
  return static_cast<std::size_t>(type.shape.count()) * size_of(type.dtype);
}

using ValueId = int;
inline constexpr ValueId kNoValue = -1;

// A node's operand, or a source of the graph. `name` is unique in the graph.
struct ValueInfo {
  std::string name;
  Type type;
  Role role = Role::activation;
  Layout layout = Layout::plain;  // How the bytes lie in memory; `type` is always the logical shape.
  Attributes attributes;          // Of a source: its initializer, sparse=1, …; see nn/initializer.h.
};

inline constexpr int kEveryStage = -1;

// One application of an operator. Nodes stand in the graph in an order in which they can run.
struct Node {
  std::string name;
  const Operator* op = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  Phase phase = Phase::forward;
  int stage = 0;  // The part of a pipeline that runs it; see stages.h.
};

// A handle to a value of a graph, for building: cheap to copy, valid as long as the graph.
class Value {
 public:
  Value() = default;
  Value(Graph& graph, ValueId id) : graph_(&graph), id_(id) {}

  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  ValueId id() const { return id_; }
  const ValueInfo& info() const;
  const Type& type() const { return info().type; }
  const Shape& shape() const { return info().type.shape; }
  std::int64_t dim(int axis) const { return shape()[axis]; }
  bool operator==(const Value&) const = default;

 private:
  Graph* graph_ = nullptr;
  ValueId id_ = kNoValue;
};

// A training step: operators applied to values, in an order in which they can run.
//
// Building checks shapes: adding a node whose operands do not fit throws ConfigError with the names of the
// nodes and their shapes. Used by one thread while it is built; read by many afterwards.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A value that no node computes. Throws ConfigError when the name is taken.
  Value source(std::string_view name, const Type& type, Role role, Attributes attributes = {});

  // Applies the operator called `op` and returns its outputs. Without a name the node is called after the
  // operator. Throws ConfigError for an unknown operator, operands that do not fit, or an unknown attribute.
  std::vector<Value> apply(std::string_view op, std::span<const Value> inputs, Attributes attributes = {},
                           std::string_view name = {});

  // The same for an operator with one output.
  Value add(std::string_view op, std::initializer_list<Value> inputs, Attributes attributes = {},
            std::string_view name = {});

  Value find(std::string_view name);  // A null Value when there is none.
  const ValueInfo& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  ValueInfo& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  int value_count() const { return static_cast<int>(values_.size()); }

  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }  // For passes, which keep the order runnable.

  // The values that the graph is built for, by role of their own: "loss", "logits", "accuracy", ….
  void set_output(std::string_view name, Value value);
  Value output(std::string_view name);  // A null Value when there is none.
  const std::vector<std::pair<std::string, ValueId>>& outputs() const { return outputs_; }
  std::vector<std::pair<std::string, ValueId>>& outputs() { return outputs_; }

  // The phase that nodes added from now on belong to.
  void set_phase(Phase phase) { phase_ = phase; }
  void set_stage(int stage) { stage_ = stage; }  // The same of the stage.

  // The values of one role, in the order of their creation.
  std::vector<ValueId> values_of(Role role) const;

  std::unique_ptr<Graph> clone() const;

 private:
  std::string unique_name(std::string_view wanted);

  Value new_value(ValueInfo info);

  std::vector<ValueInfo> values_;
  std::unordered_map<std::string, ValueId> by_name_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, ValueId>> outputs_;
  Phase phase_ = Phase::forward;
  int stage_ = 0;
};

// The index of the node that computes each value, or -1 for a source.
std::vector<int> producers(const Graph& graph);

}  // namespace hocket
