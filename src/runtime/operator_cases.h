#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "graph/graph.h"
#include "runtime/interpreter.h"

namespace hocket {

// A graph under test with random tensors for its sources. Used by one thread.
class Scene {
 public:
  enum class Size : std::uint8_t { small, large, divisible };

  Scene(DType dtype, Size size) : dtype_(dtype), size_(size) {}

  Graph& graph() { return graph_; }
  const Sources& sources() const { return sources_; }
  DType dtype() const { return dtype_; }

  // A dimension: small for finite differences, large for comparing kernels, or one that 2, 3 and 4 divide.
  std::int64_t dim(std::int64_t small, std::int64_t large) const {
    return size_ == Size::small ? small : size_ == Size::large ? large : 12;
  }

  // Of the scene's dtype, uniform in [low, high). A parameter's gradient is wanted, a constant's is not.
  Value parameter(const Shape& shape, double low = -1, double high = 1, Attributes attributes = {});
  Value constant(const Shape& shape, double low = -1, double high = 1);
  Value weights(std::int64_t samples);                     // f32, the second one 0.
  Value labels(const Shape& shape, std::int64_t classes);  // i32 in [0, classes).
  Value targets(const Shape& shape);                       // 0 or 1.
  Value bind(std::string_view name, const Tensor& tensor, Role role = Role::input);

  Value add(std::string_view op, std::initializer_list<Value> inputs, Attributes attributes = {}) {
    return graph_.add(op, inputs, std::move(attributes));
  }
  std::vector<Value> apply(std::string_view op, std::initializer_list<Value> inputs,
                           Attributes attributes = {}) {
    return graph_.apply(op, std::span(inputs.begin(), inputs.size()), std::move(attributes));
  }

  // A scalar that depends on every element of the values, each by another factor.
  Value loss_of(const std::vector<Value>& values);

 private:
  Tensor uniform(const Shape& shape, double low, double high);

  DType dtype_;
  Size size_;
  Graph graph_;
  Sources sources_;
  Rng rng_{2024};
};

// One operator with one choice of attributes and shapes. `build` adds it to the scene and returns its
// results.
struct OperatorCase {
  std::string name;
  std::function<std::vector<Value>(Scene&)> build;

  friend std::ostream& operator<<(std::ostream& out, const OperatorCase& test) { return out << test.name; }
};

std::vector<OperatorCase> differentiable_cases();
std::vector<OperatorCase>
image_cases();  // Differentiable too; under choose_layouts their images are channels_last.
std::vector<OperatorCase> update_cases();  // Without a gradient: metrics, and what updates in place.

inline std::string name_of_case(const testing::TestParamInfo<OperatorCase>& info) { return info.param.name; }

inline Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), copy.bytes().begin());
  return copy;
}

// Where one has no elements yet, so has its copy.
inline std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors)
    copies.push_back(tensor.bytes().data() == nullptr ? tensor : copy_of(tensor));
  return copies;
}

}  // namespace hocket
