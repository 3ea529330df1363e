#include "nn/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/operators/operands.h"
#include "graph/stages.h"
#include "nn/update_spec.h"

namespace hocket {
namespace {

struct Rule {
  std::string_view name;
  UpdateRule kernel;
  std::array<std::string_view, 2> slots;
  double learning_rate;
  double eps;
};

constexpr std::array<Rule, 6> kRules{{{"sgd", UpdateRule::sgd, {}, 0.1, 0},
                                      {"momentum", UpdateRule::momentum, {"velocity"}, 0.05, 0},
                                      {"nesterov", UpdateRule::nesterov, {"velocity"}, 0.05, 0},
                                      {"adagrad", UpdateRule::adagrad, {"sum"}, 0.01, 1e-10},
                                      {"adam", UpdateRule::adam, {"mean", "variance"}, 1e-3, 1e-8},
                                      {"adamw", UpdateRule::adamw, {"mean", "variance"}, 1e-3, 1e-8}}};

const Rule& find_rule(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) {
    if (rule.name == name) return rule;
    names.push_back(rule.name);
  }
  throw ConfigError("unknown optimizer {}{}", name, did_you_mean(name, names));
}

Attributes attributes_of(const OptimizerSpec& spec, const Rule& rule, const Shape& shape) {
  Attributes attributes;
  if (spec.weight_decay > 0 && shape.rank() >= 2) attributes.set("decay", spec.weight_decay);
  if (rule.name == "momentum" || rule.name == "nesterov") attributes.set("mu", spec.momentum);
  if (rule.name.starts_with("adam")) {
    attributes.set("beta1", spec.beta1);
    attributes.set("beta2", spec.beta2);
  }
  if (rule.eps > 0) attributes.set("eps", spec.eps > 0 ? spec.eps : rule.eps);
  return attributes;
}

void add_update(Graph& graph, Value parameter, const Gradient& gradient, Value hyper, Value scale,
                const OptimizerSpec& spec) {
  const Rule& rule = find_rule(spec.rule);
  std::vector<Value> operands{parameter, gradient.value};
  if (gradient.row_ids) operands.push_back(gradient.row_ids);
  operands.push_back(hyper);
  for (const std::string_view slot : rule.slots) {
    if (slot.empty()) continue;
    operands.push_back(
        graph.source(fmt::format("{}/{}", slot, parameter.info().name), parameter.type(), Role::state));
  }
  if (scale) operands.push_back(scale);
  const std::string op = std::string(rule.name) + (gradient.row_ids ? "_rows" : "");
  graph.apply(op, operands, attributes_of(spec, rule, parameter.shape()), "update." + parameter.info().name);
}

Value square_sums(Graph& graph, std::span<const Value> gradients) {
  IntList begins;
  std::int64_t size = 0;
  for (const Value& gradient : gradients) {
    begins.push_back(size);
    size += (gradient.shape().count() + kSquareBlock - 1) / kSquareBlock;
  }
  return graph.apply("square_sums", gradients, {{"begins", begins}, {"size", size}}, "squares")[0];
}

}  // namespace

void validate(const OptimizerSpec& spec) {
  find_rule(spec.rule);
  const auto require = [](bool holds, std::string_view what, double value, std::string_view range) {
    if (!holds) throw ConfigError("{} {} is not {}", what, value, range);
  };
  require(spec.momentum >= 0 && spec.momentum < 1, "momentum", spec.momentum, "in [0, 1)");
  require(spec.beta1 >= 0 && spec.beta1 < 1, "beta1", spec.beta1, "in [0, 1)");
  require(spec.beta2 >= 0 && spec.beta2 < 1, "beta2", spec.beta2, "in [0, 1)");
  require(spec.weight_decay >= 0 && std::isfinite(spec.weight_decay), "weight decay", spec.weight_decay,
          "from 0 on");
  require(spec.clip >= 0 && std::isfinite(spec.clip), "clip", spec.clip, "from 0 on");
}

double default_learning_rate(std::string_view rule) { return find_rule(rule).learning_rate; }

UpdateSpec update_spec_of(const OptimizerSpec& spec) {
  const Rule& rule = find_rule(spec.rule);
  UpdateSpec update;
  update.rule = rule.kernel;
  update.mu = spec.momentum;
  update.beta1 = spec.beta1;
  update.beta2 = spec.beta2;
  update.eps = spec.eps > 0 ? spec.eps : rule.eps;
  return update;
}

Hyper hyper_at(const OptimizerSpec& spec, double learning_rate, std::int64_t step) {
  const auto t = static_cast<double>(step + 1);
  return {learning_rate, 1 - std::pow(spec.beta1, t), 1 - std::pow(spec.beta2, t), 1};
}

void add_updates(Graph& graph, std::span<const Gradient> gradients, const OptimizerSpec& spec,
                 bool report_norm) {
  validate(spec);
  graph.set_phase(Phase::update);
  const Value hyper = graph.source("hyper", {DType::f64, {4}}, Role::input);
  Value scale;
  if (spec.clip > 0 || report_norm) {
    std::vector<Value> all;
    for (const Gradient& gradient : gradients) {
      if (gradient.value) all.push_back(gradient.value);
    }
    graph.set_stage(kEveryStage);
    const Value sums = square_sums(graph, all);
    const std::vector<Value> results =
        graph.apply("clip_scale", std::vector<Value>{sums}, {{"max", spec.clip}}, "clip");
    if (spec.clip > 0) scale = results[0];
    graph.set_output("gradient_norm", results[1]);
  }
  const std::vector<ValueId> parameters = graph.values_of(Role::parameter);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    graph.set_stage(home_stage(graph, parameters[i]));
    if (gradients[i].value) add_update(graph, Value(graph, parameters[i]), gradients[i], hyper, scale, spec);
  }
  graph.set_phase(Phase::forward);
  graph.set_stage(0);
}

}  // namespace hocket
