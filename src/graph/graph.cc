#include "graph/graph.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/operator.h"

namespace hocket {
namespace {

std::string describe(const Graph& graph, const Node& node) {
  std::string text = fmt::format("{}(", node.op->name());
  for (const ValueId id : node.inputs) {
    if (text.back() != '(') text += ", ";
    text += fmt::format("{}: {}", graph.value(id).name, to_string(graph.value(id).type));
  }
  return text + ")";
}

void check_attributes(const Node& node) {
  const std::vector<std::string_view> known = node.op->attribute_names();
  for (const auto& [key, value] : node.attributes.entries()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw ConfigError("node {}: operator {} has no attribute {}{}", node.name, node.op->name(), key,
                      did_you_mean(key, known));
  }
}

}  // namespace

std::string to_string(const Type& type) {
  return fmt::format("{}{}", name_of(type.dtype), to_string(type.shape));
}

const ValueInfo& Value::info() const { return graph_->value(id_); }

std::string Graph::unique_name(std::string_view wanted) {
  std::string name(wanted);
  for (int suffix = 2; find(name); ++suffix) name = fmt::format("{}.{}", wanted, suffix);
  return name;
}

Value Graph::source(std::string_view name, const Type& type, Role role, Attributes attributes) {
  if (find(name)) throw ConfigError("the graph has two values called {}", name);
  return new_value({std::string(name), type, role, Layout::plain, std::move(attributes)});
}

Value Graph::new_value(ValueInfo info) {
  by_name_.emplace(info.name, value_count());
  values_.push_back(std::move(info));
  return {*this, value_count() - 1};
}

std::vector<Value> Graph::apply(std::string_view op, std::span<const Value> inputs, Attributes attributes,
                                std::string_view name) {
  Node node;
  node.op = find_operator(op);
  if (node.op == nullptr) throw ConfigError("unknown operator {}{}", op, did_you_mean(op, operator_names()));
  node.name = unique_name(name.empty() ? op : name);
  node.attributes = std::move(attributes);
  node.phase = phase_;
  node.stage = stage_;
  check_attributes(node);

  std::vector<Type> types;
  for (const Value& input : inputs) {
    node.inputs.push_back(input.id());
    types.push_back(input.type());
  }
  std::vector<Type> outputs;
  try {
    outputs = node.op->infer(node, types);
  } catch (const ConfigError& error) {
    throw ConfigError("node {} = {}: {}", node.name, describe(*this, node), error.what());
  }

  std::vector<Value> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string value_name = i == 0 ? node.name : unique_name(fmt::format("{}:{}", node.name, i));
    results.push_back(new_value({value_name, outputs[i], Role::activation, Layout::plain, {}}));
    node.outputs.push_back(results.back().id());
  }
  nodes_.push_back(std::move(node));
  return results;
}

Value Graph::add(std::string_view op, std::initializer_list<Value> inputs, Attributes attributes,
                 std::string_view name) {
  return apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes), name).front();
}

Value Graph::find(std::string_view name) {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? Value() : Value(*this, at->second);
}

void Graph::set_output(std::string_view name, Value value) { outputs_.emplace_back(name, value.id()); }

Value Graph::output(std::string_view name) {
  for (const auto& [key, id] : outputs_) {
    if (key == name) return {*this, id};
  }
  return {};
}

std::vector<ValueId> Graph::values_of(Role role) const {
  std::vector<ValueId> ids;
  for (ValueId id = 0; id < value_count(); ++id) {
    if (value(id).role == role) ids.push_back(id);
  }
  return ids;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  copy->values_ = values_;
  copy->by_name_ = by_name_;
  copy->nodes_ = nodes_;
  copy->outputs_ = outputs_;
  copy->phase_ = phase_;
  copy->stage_ = stage_;
  return copy;
}

std::vector<int> producers(const Graph& graph) {
  std::vector<int> result(static_cast<std::size_t>(graph.value_count()), -1);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    for (const ValueId id : graph.nodes()[i].outputs)
      result[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }
  return result;
}

}  // namespace hocket
