#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "nn/initializer.h"

namespace hocket {

// Builds a model's forward graph: names within scopes, inputs with the batch dimension, parameters with
// initializers. Used by one thread; the graph must outlive it.
class Builder {
 public:
  // `real` is the dtype of parameters and activations: f32, or f64 for the oracle.
  Builder(Graph& graph, std::int64_t batch, DType real = DType::f32)
      : graph_(graph), batch_(batch), real_(real) {}

  Graph& graph() { return graph_; }
  std::int64_t batch() const { return batch_; }

  // An input of the batch: `shape` is that of one sample. Floating-point inputs are cast to the real dtype.
  Value input(std::string_view name, DType dtype, const Shape& shape);
  // An input of exactly this shape, such as the values of sparse rows.
  Value raw_input(std::string_view name, DType dtype, const Shape& shape);
  Value sample_weight();  // f32 (N)
  Value dropout_key();    // i64 (3)

  Value parameter(std::string_view name, const Shape& shape, Attributes init);
  Value buffer(std::string_view name, const Shape& shape, Attributes init);

  // Adds a node named after the current scope, with `suffix` appended where a scope has several.
  Value add(std::string_view op, std::initializer_list<Value> inputs, Attributes attributes = {},
            std::string_view suffix = {});
  std::vector<Value> apply(std::string_view op, std::initializer_list<Value> inputs,
                           Attributes attributes = {}, std::string_view suffix = {});

  // Names between now and the end of the returned object's life start with `name` and a dot.
  class Scope {
   public:
    Scope(Builder& builder, std::string_view name);
    ~Scope() { builder_.scope_.resize(length_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    std::size_t length_;
  };
  Scope scope(std::string_view name) { return {*this, name}; }

 private:
  std::string full_name(std::string_view name) const;
  std::string node_name(std::string_view op, std::string_view suffix) const;

  Graph& graph_;
  std::int64_t batch_;
  DType real_;
  std::string scope_;
};

}  // namespace hocket
