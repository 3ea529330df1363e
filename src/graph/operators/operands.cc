#include "graph/operators/operands.h"

#include <limits>

#include "base/error.h"

namespace hocket {
namespace {

void check_shape(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 1) {
      throw ConfigError("the shape {} has a dimension of {}, expected at least 1", to_string(shape), dim);
    }
    if (count > kMaxElements / dim) {
      throw ConfigError("the shape {} has more than {} elements", to_string(shape), kMaxElements);
    }
    count *= dim;
  }
}

}  // namespace

Type make_type(DType dtype, const Shape& shape) {
  check_shape(shape);
  return {dtype, shape};
}

IntList dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

std::int64_t integer_from(const Node& node, std::string_view key, std::int64_t otherwise,
                          std::int64_t least) {
  const std::int64_t value = node.attributes.integer(key, otherwise);
  if (value < least || value > std::numeric_limits<std::int32_t>::max()) {
    throw ConfigError("attribute {}={} must be at least {} and at most {}", key, value, least,
                      std::numeric_limits<std::int32_t>::max());
  }
  return value;
}

std::int64_t required_integer(const Node& node, std::string_view key, std::int64_t least) {
  if (!node.attributes.has(key)) throw ConfigError("attribute {} is missing", key);
  return integer_from(node, key, least, least);
}

bool flag(const Node& node, std::string_view key, bool otherwise) {
  const std::int64_t value = node.attributes.integer(key, otherwise ? 1 : 0);
  if (value != 0 && value != 1) throw ConfigError("attribute {}={} must be 0 or 1", key, value);
  return value == 1;
}

double real_between(const Node& node, std::string_view key, double otherwise, double least, double most) {
  const double value = node.attributes.real(key, otherwise);
  if (!(value >= least && value <= most)) {
    throw ConfigError("attribute {}={} must be between {} and {}", key, value, least, most);
  }
  return value;
}

Shape shape_attribute(const Node& node, std::string_view key) {
  if (!node.attributes.has(key)) throw ConfigError("attribute {} is missing", key);
  const Shape shape(node.attributes.list(key));
  check_shape(shape);
  return shape;
}

int axis_of(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    throw ConfigError("axis {} is outside the {} dimensions of x", axis, rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

bool has_relu(const Node& node) {
  const std::string activation = node.attributes.text("act", "none");
  if (activation != "none" && activation != "relu") {
    throw ConfigError("attribute act={} must be none or relu", activation);
  }
  return activation == "relu";
}

namespace {
constexpr std::int64_t kMostParts = std::int64_t{1} << 20;  // So that part · rows cannot overflow.
}

void expect_part(const Node& node) {
  const std::int64_t part = integer_from(node, "part", 0, 0);
  if (part >= kMostParts) throw ConfigError("attribute part={} must be less than {}", part, kMostParts);
}

void expect_parts(const Node& node) {
  const std::int64_t part = integer_from(node, "part", 0, 0);
  const std::int64_t parts = integer_from(node, "parts", 1, 1);
  if (part >= parts || parts > kMostParts) {
    throw ConfigError("part={} is none of parts={}, at most {}", part, parts, kMostParts);
  }
}

Operands::Operands(std::span<const Type> types, std::initializer_list<std::string_view> names,
                   std::size_t optional)
    : Operands(types, std::vector<std::string_view>(names), optional) {}

Operands::Operands(std::span<const Type> types, std::vector<std::string_view> names, std::size_t optional)
    : types_(types), names_(std::move(names)) {
  if (types.size() > names_.size() || types.size() + optional < names_.size()) {
    throw ConfigError("{} operands given, expected {}({})", types.size(), optional > 0 ? "at most " : "",
                      fmt::join(names_, ", "));
  }
  for (const Type& type : types) check_shape(type.shape);
}

void Operands::expect_rank(int i, int rank) const {
  if (shape(i).rank() != rank) {
    throw ConfigError("{} is {}, expected {} dimensions", name(i), to_string(type(i)), rank);
  }
}

void Operands::expect_rank_from(int i, int least) const {
  if (shape(i).rank() < least) {
    throw ConfigError("{} is {}, expected at least {} dimensions", name(i), to_string(type(i)), least);
  }
}

void Operands::expect_shape(int i, const Shape& expected) const {
  if (shape(i) != expected) {
    throw ConfigError("{} has shape {}, expected {}", name(i), to_string(shape(i)), to_string(expected));
  }
}

void Operands::expect_dtype(int i, DType expected) const {
  if (dtype(i) != expected) {
    throw ConfigError("{} is {}, expected {}", name(i), name_of(dtype(i)), name_of(expected));
  }
}

void Operands::expect_float(int i) const {
  if (dtype(i) != DType::f32 && dtype(i) != DType::f64) {
    throw ConfigError("{} is {}, expected f32 or f64", name(i), name_of(dtype(i)));
  }
}

void Operands::expect_like(int i, int other) const {
  if (type(i) != type(other)) {
    throw ConfigError("{} is {} but {} is {}", name(i), to_string(type(i)), name(other),
                      to_string(type(other)));
  }
}

void Operands::expect_dtype_of(int i, int other) const {
  if (dtype(i) != dtype(other)) {
    throw ConfigError("{} is {} but {} is {}", name(i), name_of(dtype(i)), name(other),
                      name_of(dtype(other)));
  }
}

Backward::Backward(Graph& graph, const Node& node) : graph_(graph), attributes_(node.attributes) {
  for (const ValueId id : node.inputs) in_.emplace_back(graph, id);
  for (const ValueId id : node.outputs) out_.emplace_back(graph, id);
}

std::vector<Value> Backward::apply(int i, std::string_view op, std::initializer_list<Value> inputs,
                                   Attributes attributes) const {
  const std::string name = "d." + in(i).info().name;
  return graph_.apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes), name);
}

Value Backward::add(int i, std::string_view op, std::initializer_list<Value> inputs,
                    Attributes attributes) const {
  return apply(i, op, inputs, std::move(attributes)).front();
}

Value Backward::summed_to(int i, Value gradient) const {
  const Shape& shape = in(i).shape();
  if (gradient.shape() == shape) return gradient;
  return add(i, "sum_to", {gradient}, {{"shape", dims_of(shape)}});
}

Value Backward::cast_to(int i, Value gradient) const {
  const DType dtype = in(i).type().dtype;
  if (gradient.type().dtype == dtype) return gradient;
  return add(i, "cast", {gradient}, {{"dtype", std::string(name_of(dtype))}});
}

Value Backward::before_activation(Value dy) const {
  if (attributes_.text("act", "none") == "none") return dy;
  return add(0, "relu_grad", {dy, out(0)});
}

Value only_first(const Node& node, std::span<const Value> dy) {
  for (std::size_t i = 1; i < dy.size(); ++i) {
    if (dy[i]) throw ConfigError("node {}: output {} of {} has no gradient", node.name, i, node.op->name());
  }
  return dy[0];
}

}  // namespace hocket
