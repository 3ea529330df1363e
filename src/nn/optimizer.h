#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/operator.h"

namespace hocket {

// The update rule and its constants; docs/OPERATORS.md gives the formulas. The learning rate is not here: it
// changes from step to step and is an input of the update phase.
struct OptimizerSpec {
  std::string rule{};  // sgd, momentum, nesterov, adagrad, adam or adamw.
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 0;           // 0: the rule's own, 1e-10 for adagrad and 1e-8 for adam.
  double weight_decay = 0;  // Of parameters with two or more dimensions: biases and norms are left alone.
  double clip = 0;          // Largest norm of the whole gradient; 0 leaves it as it is.
};

// Throws ConfigError for an unknown rule or a constant outside its range.
void validate(const OptimizerSpec& spec);
double default_learning_rate(std::string_view rule);

// What the update phase reads each step: the input "hyper" of the graph.
struct Hyper {
  double learning_rate = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  double divisor = 1;
};
// For step `step`, counted from 0.
Hyper hyper_at(const OptimizerSpec& spec, double learning_rate, std::int64_t step);

// Adds the update phase: per parameter with a gradient one node of the rule, its state as sources, clipping
// before them. With `report_norm` the output "gradient_norm" is there even without clipping.
void add_updates(Graph& graph, std::span<const Gradient> gradients, const OptimizerSpec& spec,
                 bool report_norm = false);

}  // namespace hocket
