#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "graph/conversion.h"
#include "graph/place.h"

namespace hocket {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

// Whether `text` matches `pattern`, in which * stands for any text.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*') {
    return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
  }
  for (std::size_t skip = 0; skip <= text.size(); ++skip) {
    if (matches(pattern.substr(1), text.substr(skip))) return true;
  }
  return false;
}

PlacementRule whole(const Node& node) {
  return {Placements(node.inputs.size(), Replicated{}), Placements(node.outputs.size(), Replicated{})};
}

// What a rank sends.
double bytes_sent(std::string_view collective, std::size_t bytes, const Mesh::Axis& axis) {
  const double share = static_cast<double>(bytes) * (axis.size - 1) / axis.size;
  return collective == "all_reduce" ? 2 * share : share;
}

class Assigner {
 public:
  Assigner(const Graph& graph, const PlaceOptions& options)
      : graph_(graph),
        options_(options),
        axes_(options.mesh.axes()),
        readers_(static_cast<std::size_t>(graph.value_count())) {
    for (const Node& node : graph.nodes()) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        readers_[index(node.inputs[i])].push_back({&node, i});
    }
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      forms_.emplace_back(axes_.size());
      result_.values.emplace_back(axes_.size());
    }
    place_sources();
  }

  Assignment run() {
    for (const Node& node : graph_.nodes()) {
      std::vector<PlacementRule>& rules = result_.rules.emplace_back();
      for (std::size_t axis = 0; axis < axes_.size(); ++axis) rules.push_back(choose(node, axis, rules));
    }
    for (const Placements& forms : result_.values)
      HOCKET_CHECK(forms.size() == axes_.size(), "a value has no placement");
    return std::move(result_);
  }

 private:
  using Forms = std::vector<Placement>;  // A value as made or kept, then what it was converted to.

  struct Reader {
    const Node* node;
    std::size_t operand;
  };

  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  Forms& forms(ValueId id, std::size_t axis) { return forms_[index(id)][axis]; }

  void fix(ValueId id, std::size_t axis, Placement placement) {
    forms(id, axis) = {placement};
    result_.values[index(id)][axis] = placement;
  }

  // Sources that are left without a form are kept as their first reader wants them.
  void place_sources() {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      for (const ValueId id : graph_.values_of(Role::input)) {
        fix(id, axis, input_placement(id, axes_[axis].name));
      }
      for (const ValueId id : graph_.values_of(Role::parameter)) {
        if (const std::optional<Placement> hint = preset(id, axis)) fix(id, axis, *hint);
        if (axes_[axis].name == "dp") fix(id, axis, Replicated{});
      }
    }
    for (const Declaration& declaration : options_.declarations) declare(declaration);
    if (options_.kept == nullptr) return;
    for (const ValueId id : graph_.values_of(Role::parameter)) {
      const Placements& kept = options_.kept->at(graph_.value(id).name).placements;
      for (std::size_t axis = 0; axis < axes_.size(); ++axis) fix(id, axis, kept[axis]);
    }
  }

  Placement input_placement(ValueId id, const std::string& axis) const {
    const std::string& name = graph_.value(id).name;
    if (axis != "dp" || name == "dloss" || name == "hyper") return Replicated{};
    if (name == "key" || sparse_operand(graph_, id) >= 0) return Local{};
    return Sharded{0};
  }

  // What the model itself says of a parameter, as the attribute tp=0 does; nothing where that does not
  // divide.
  std::optional<Placement> preset(ValueId id, std::size_t axis) const {
    const ValueInfo& value = graph_.value(id);
    if (!value.attributes.has(axes_[axis].name)) return std::nullopt;
    const auto dim = static_cast<int>(value.attributes.integer(axes_[axis].name, 0));
    if (dim < 0 || dim >= value.type.shape.rank() || value.type.shape[dim] % axes_[axis].size != 0)
      return std::nullopt;
    return Sharded{dim};
  }

  void declare(const Declaration& declaration) {
    const auto at = std::find_if(axes_.begin(), axes_.end(),
                                 [&](const Mesh::Axis& axis) { return axis.name == declaration.axis; });
    if (at == axes_.end()) {
      throw ConfigError("place {}={}: the mesh {} has no axis {}", declaration.pattern, declaration.axis,
                        options_.mesh.text(), declaration.axis);
    }
    bool found = false;
    for (const ValueId id : graph_.values_of(Role::parameter)) {
      if (!matches(declaration.pattern, graph_.value(id).name)) continue;
      found = true;
      require_legal(id, declaration, *at);
      fix(id, static_cast<std::size_t>(at - axes_.begin()), declaration.placement);
    }
    if (!found) throw ConfigError("place: no parameter is called {}; see hocket models", declaration.pattern);
  }

  void require_legal(ValueId id, const Declaration& declaration, const Mesh::Axis& axis) const {
    if (declaration.placement == Placement(Replicated{})) return;
    std::vector<std::string> legal;
    for (int dim = 0; dim < graph_.value(id).type.shape.rank(); ++dim) {
      if (!has_reader_for(id, Sharded{dim}) || graph_.value(id).type.shape[dim] % axis.size != 0) continue;
      if (declaration.placement == Placement(Sharded{dim})) return;
      legal.push_back(fmt::format("{}:{}", axis.name, dim));
    }
    legal.push_back(axis.name + ":replicated");
    throw ConfigError("place {}: {} of {} cannot be {} along {} ({} ranks); legal: {}", declaration.pattern,
                      graph_.value(id).name, to_string(graph_.value(id).type),
                      to_string(declaration.placement), axis.name, axis.size, fmt::join(legal, ", "));
  }

  bool has_reader_for(ValueId id, Placement placement) const {
    const auto& readers = readers_[index(id)];
    return std::any_of(readers.begin(), readers.end(), [&](const Reader& reader) {
      for (const PlacementRule& rule : rules_of(*reader.node)) {
        if (reader.node->phase == Phase::forward && rule.inputs[reader.operand] == placement) return true;
      }
      return false;
    });
  }

  std::vector<PlacementRule> rules_of(const Node& node) const {
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph_.value(id).type);
    std::vector<PlacementRule> rules = node.op->placements(node, types);
    if (node.op->name() == "bn_stats") {
      const Placement unwanted = options_.sync_batch_norm ? Placement(Local{}) : Placement(Partial{});
      std::erase_if(rules, [&](const PlacementRule& rule) { return rule.outputs[0] == unwanted; });
    }
    rules.insert(rules.begin(), whole(node));
    return rules;
  }

  PlacementRule choose(const Node& node, std::size_t axis, std::span<const PlacementRule> other_axes) {
    double least = kImpossible;
    PlacementRule best;
    for (PlacementRule& rule : rules_of(node)) {
      const double price = cost(node, rule, axis, other_axes);
      // Of equals the first, but factors are not gathered for nothing.
      const bool puts_off_sum = may_gather_factors(node, axis) && rule.outputs[0] == Placement(Partial{});
      if (puts_off_sum ? price > least : price >= least) continue;
      least = price;
      best = std::move(rule);
    }
    if (least == kImpossible) {
      throw ConfigError("node {}: operator {} cannot run on operands that lie so along {}: {}", node.name,
                        node.op->name(), axes_[axis].name, describe_operands(node, axis));
    }
    take(node, best, axis);
    return best;
  }

  std::string describe_operands(const Node& node, std::size_t axis) {
    std::string text;
    for (const ValueId id : node.inputs) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", graph_.value(id).name,
                          forms(id, axis).empty() ? "undecided" : to_string(forms(id, axis)[0]));
    }
    return text;
  }

  // Whether it may run on factors of all ranks. Then bytes alone decide.
  bool may_gather_factors(const Node& node, std::size_t axis) const {
    return options_.factors && axes_[axis].name == "dp" && node.op->name() == "matmul_dw";
  }

  void take(const Node& node, const PlacementRule& rule, std::size_t axis) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Forms& known = forms(node.inputs[i], axis);
      if (known.empty()) fix(node.inputs[i], axis, kept_for(node.inputs[i], rule.inputs[i]));
      // Other readers do not run whole because a factor was gathered.
      if (may_gather_factors(node, axis)) continue;
      if (std::find(known.begin(), known.end(), rule.inputs[i]) == known.end())
        known.push_back(rule.inputs[i]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) fix(node.outputs[i], axis, rule.outputs[i]);
  }

  // How a source that nothing is said of is kept for a reader: no parameter is kept in terms of a sum.
  Placement kept_for(ValueId id, const Placement& wanted) const {
    const bool is_parameter = graph_.value(id).role == Role::parameter;
    return is_parameter && !std::holds_alternative<Sharded>(wanted) ? Placement(Replicated{}) : wanted;
  }

  // Of the conversions that the rule asks for, and of what it leaves to be done.
  double cost(const Node& node, const PlacementRule& rule, std::size_t axis,
              std::span<const PlacementRule> other_axes) {
    double sum = 0;
    int partial = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_even(graph_.value(node.inputs[i]).type.shape, rule.inputs[i], axis)) return kImpossible;
      for (const PlacementRule& other : other_axes) {
        if (std::holds_alternative<Sharded>(rule.inputs[i]) && other.inputs[i] == rule.inputs[i])
          return kImpossible;
      }
      sum += operand_cost(node, i, rule.inputs[i], axis);
      partial += is_partial(node.inputs[i], axis) && std::holds_alternative<Partial>(rule.inputs[i]) ? 1 : 0;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Type& type = graph_.value(node.outputs[i]).type;
      if (!is_even(type.shape, rule.outputs[i], axis)) return kImpossible;
      for (const PlacementRule& other : other_axes) {
        if (std::holds_alternative<Sharded>(rule.outputs[i]) && other.outputs[i] == rule.outputs[i])
          return kImpossible;
      }
      if (!std::holds_alternative<Partial>(rule.outputs[i])) continue;
      // A sum that is put off must be made later; sums that are joined are made once.
      if (may_gather_factors(node, axis)) {
        sum += bytes_sent("all_reduce", bytes_of(type), axes_[axis]) / options_.micro_batches;
      } else if (partial > 0) {
        sum += options_.cost("all_reduce", bytes_of(type), axes_[axis]);
      }
    }
    // Putting off a sum that others wait for too would make it twice.
    if (partial == 1 && sum > 0 && reads_shared_partial(node, rule, axis)) return kImpossible;
    return sum;
  }

  bool is_partial(ValueId id, std::size_t axis) {
    return !forms(id, axis).empty() && std::holds_alternative<Partial>(forms(id, axis)[0]);
  }

  bool reads_shared_partial(const Node& node, const PlacementRule& rule, std::size_t axis) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!std::holds_alternative<Partial>(rule.inputs[i]) || !is_partial(node.inputs[i], axis)) continue;
      if (readers_[index(node.inputs[i])].size() > 1) return true;
    }
    return false;
  }

  double operand_cost(const Node& node, std::size_t operand, const Placement& wanted, std::size_t axis) {
    const ValueId id = node.inputs[operand];
    const Forms& known = forms(id, axis);
    if (known.empty()) return collective_between(kept_for(id, wanted), wanted) ? 0 : kImpossible;
    const std::vector<int> updated = node.op->updates();
    if (std::find(updated.begin(), updated.end(), static_cast<int>(operand)) != updated.end()) {
      return known[0] == wanted ? 0 : kImpossible;
    }
    double least = kImpossible;
    for (const Placement& form : known) {
      const std::optional<std::string_view> collective = collective_between(form, wanted);
      if (!collective) continue;
      least = std::min(least, collective->empty() ? 0 : price(*collective, node, id, axis));
    }
    return least;
  }

  double price(std::string_view collective, const Node& reader, ValueId id, std::size_t axis) const {
    const std::size_t bytes = bytes_of(graph_.value(id).type);
    if (may_gather_factors(reader, axis)) return bytes_sent(collective, bytes, axes_[axis]);
    const double once = options_.cost(collective, bytes, axes_[axis]);
    // The gradient of a parameter that is put together must be cut again.
    const bool is_parameter = graph_.value(id).role == Role::parameter;
    return is_parameter ? once + options_.cost("reduce_scatter", bytes, axes_[axis]) : once;
  }

  bool is_even(const Shape& shape, const Placement& placement, std::size_t axis) const {
    const auto* cut = std::get_if<Sharded>(&placement);
    return cut == nullptr || shape[cut->dim] % axes_[axis].size == 0;
  }

  const Graph& graph_;
  const PlaceOptions& options_;
  const std::vector<Mesh::Axis>& axes_;
  std::vector<std::vector<Reader>> readers_;  // By value.
  std::vector<std::vector<Forms>> forms_;     // By value and axis.
  Assignment result_;
};

}  // namespace

Declaration Declaration::parse(std::string_view text) {
  const std::size_t equals = text.find('='), colon = text.find(':', std::min(equals, text.size()));
  const auto fail = [&]() {
    return ConfigError("place {}: expected PARAMETER=AXIS:DIMENSION, such as fc1.weight=tp:0", text);
  };
  if (equals == std::string_view::npos || colon == std::string_view::npos) throw fail();
  Declaration declaration{std::string(text.substr(0, equals)),
                          std::string(text.substr(equals + 1, colon - equals - 1)), Replicated{}};
  const std::string_view where = text.substr(colon + 1);
  if (where == "replicated") return declaration;
  if (where.size() != 1 || where[0] < '0' || where[0] >= '0' + Shape::kMaxRank) throw fail();
  declaration.placement = Sharded{where[0] - '0'};
  return declaration;
}

double default_conversion_cost(std::string_view collective, std::size_t bytes, const Mesh::Axis& axis) {
  constexpr double kLatency = 5e-6, kBytesPerSecond = 5e9;
  const double ranks = axis.size, share = static_cast<double>(bytes) * (ranks - 1) / ranks;
  // What is scattered or cut in another way will be gathered again: it costs no less than if it were at once.
  const double sent = collective == "all_reduce" || collective == "reduce_scatter" ? 2 * share : share;
  return kLatency * ranks + sent / kBytesPerSecond;
}

Assignment assign_placements(const Graph& graph, const PlaceOptions& options) {
  return Assigner(graph, options).run();
}

}  // namespace hocket
