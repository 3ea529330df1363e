#include "nn/builder.h"

#include <vector>

namespace hocket {

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), length_(builder.scope_.size()) {
  if (!builder.scope_.empty()) builder.scope_ += '.';
  builder.scope_ += name;
}

std::string Builder::full_name(std::string_view name) const {
  return scope_.empty() ? std::string(name) : scope_ + '.' + std::string(name);
}

std::string Builder::node_name(std::string_view op, std::string_view suffix) const {
  if (!suffix.empty()) return full_name(suffix);
  return scope_.empty() ? std::string(op) : scope_;
}

Value Builder::input(std::string_view name, DType dtype, const Shape& shape) {
  std::vector<std::int64_t> dims{batch_};
  dims.insert(dims.end(), shape.begin(), shape.end());
  const Value value = raw_input(name, dtype, Shape(dims));
  if (dtype != DType::f32 || real_ == DType::f32) return value;
  return graph_.add("cast", {value}, {{"dtype", std::string(name_of(real_))}}, std::string(name) + ".cast");
}

Value Builder::raw_input(std::string_view name, DType dtype, const Shape& shape) {
  const Value existing = graph_.find(name);
  return existing ? existing : graph_.source(name, {dtype, shape}, Role::input);
}

Value Builder::sample_weight() { return raw_input("weight", DType::f32, {batch_}); }

Value Builder::dropout_key() { return raw_input("key", DType::i64, {3}); }

Value Builder::parameter(std::string_view name, const Shape& shape, Attributes init) {
  return graph_.source(full_name(name), {real_, shape}, Role::parameter, std::move(init));
}

Value Builder::buffer(std::string_view name, const Shape& shape, Attributes init) {
  return graph_.source(full_name(name), {real_, shape}, Role::buffer, std::move(init));
}

Value Builder::add(std::string_view op, std::initializer_list<Value> inputs, Attributes attributes,
                   std::string_view suffix) {
  return apply(op, inputs, std::move(attributes), suffix).front();
}

std::vector<Value> Builder::apply(std::string_view op, std::initializer_list<Value> inputs,
                                  Attributes attributes, std::string_view suffix) {
  return graph_.apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes),
                      node_name(op, suffix));
}

}  // namespace hocket
