#include "base/error.h"
#include "runtime/operator_cases.h"

namespace hocket {

Value Scene::bind(std::string_view name, const Tensor& tensor, Role role) {
  std::string unique(name);
  for (int suffix = 2; graph_.find(unique); ++suffix) unique = fmt::format("{}{}", name, suffix);
  const Value value = graph_.source(unique, {tensor.dtype(), tensor.shape()}, role);
  sources_[value.id()] = tensor;
  return value;
}

Tensor Scene::uniform(const Shape& shape, double low, double high) {
  Tensor tensor(dtype_, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double value = rng_.uniform(low, high);
    if (dtype_ == DType::f64) {
      tensor.values<double>()[static_cast<std::size_t>(i)] = value;
    } else {
      tensor.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(value);
    }
  }
  return tensor;
}

Value Scene::parameter(const Shape& shape, double low, double high, Attributes attributes) {
  const Value value = bind("p", uniform(shape, low, high), Role::parameter);
  graph_.value(value.id()).attributes = std::move(attributes);
  return value;
}

Value Scene::constant(const Shape& shape, double low, double high) {
  return bind("c", uniform(shape, low, high));
}

Value Scene::weights(std::int64_t samples) {
  Tensor tensor(DType::f32, {samples});
  for (float& weight : tensor.values<float>()) weight = static_cast<float>(rng_.uniform(0.1, 1));
  if (samples > 1) tensor.values<float>()[1] = 0;
  return bind("weight", tensor);
}

Value Scene::labels(const Shape& shape, std::int64_t classes) {
  Tensor tensor(DType::i32, shape);
  for (auto& label : tensor.values<std::int32_t>()) {
    label = static_cast<std::int32_t>(rng_.below(static_cast<std::uint64_t>(classes)));
  }
  return bind("label", tensor);
}

Value Scene::targets(const Shape& shape) {
  Tensor tensor = uniform(shape, 0, 1);
  const auto round = [](auto& value) { value = value > 0.5 ? 1 : 0; };
  if (dtype_ == DType::f64) {
    for (double& value : tensor.values<double>()) round(value);
  } else {
    for (float& value : tensor.values<float>()) round(value);
  }
  return bind("target", tensor);
}

Value Scene::loss_of(const std::vector<Value>& values) {
  Value total;
  for (const Value& value : values) {
    const Value part = add("reduce_sum", {add("mul", {value, constant(value.shape())})});
    total = total ? add("add", {total, part}) : part;
  }
  return total;
}

}  // namespace hocket
