#include "graph/place.h"

#include <algorithm>

#include "base/error.h"
#include "graph/conversion.h"
#include "graph/stages.h"

namespace hocket {
namespace {

class Placer {
 public:
  Placer(const Graph& graph, const PlaceOptions& options)
      : serial_(graph),
        options_(options),
        axes_(options.mesh.axes()),
        assignment_(assign_placements(graph, options)),
        producers_(producers(graph)) {
    result_.graph = std::make_unique<Graph>();
    forms_.resize(static_cast<std::size_t>(graph.value_count()));
  }

  PlacedGraph run(std::span<const Gradient> gradients) {
    add_sources();
    for (std::size_t i = 0; i < serial_.nodes().size(); ++i) add_node(i);
    for (const auto& [name, id] : serial_.outputs()) graph().set_output(name, whole_but_dp(id));
    const std::vector<ValueId> parameters = serial_.values_of(Role::parameter);
    for (std::size_t i = 0; i < gradients.size(); ++i) require_gradient(parameters[i], gradients[i]);
    graph().set_phase(Phase::forward);
    graph().set_stage(0);
    std::stable_sort(graph().nodes().begin(), graph().nodes().end(),
                     [](const Node& a, const Node& b) { return a.phase < b.phase; });
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      result_.gradients.push_back(own_gradient(parameters[i], gradients[i]));
    }
    return std::move(result_);
  }

 private:
  struct Form {
    Placements placements;
    Value value;
  };

  Graph& graph() { return *result_.graph; }
  std::vector<Form>& forms(ValueId id) { return forms_[static_cast<std::size_t>(id)]; }
  const Placements& made_as(ValueId id) const { return assignment_.values[static_cast<std::size_t>(id)]; }
  AxisShare share(std::size_t axis) const { return options_.mesh.share(options_.rank, axes_[axis].name); }

  // Sparse rows have no dimension that is the batch, and each rank has its own: entries and offsets of its
  // share of the samples.
  Type source_type(ValueId id) const {
    Type type = local_type(serial_.value(id).type, made_as(id), options_.mesh);
    const int operand = sparse_operand(serial_, id);
    if (operand < 0) return type;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (made_as(id)[axis] != Placement(Local{})) continue;
      const std::int64_t more = operand == 2 ? 1 : 0;  // Offsets: the end of the last row.
      type.shape[0] = (type.shape[0] - more) / axes_[axis].size + more;
    }
    return type;
  }

  Shard shard_of(const Type& global, const Placements& placements, const Shape& own) const {
    Shard shard{global, placements, IntList(static_cast<std::size_t>(global.shape.rank()), 0), own};
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (const auto* cut = std::get_if<Sharded>(&placements[axis])) {
        shard.begin[static_cast<std::size_t>(cut->dim)] = share(axis).index * shard.shape[cut->dim];
      }
    }
    return shard;
  }

  Phase phase_of(ValueId id) const {
    const int producer = producers_[static_cast<std::size_t>(id)];
    return producer < 0 ? Phase::forward : serial_.nodes()[static_cast<std::size_t>(producer)].phase;
  }

  int stage_of(ValueId id) const {
    const int producer = producers_[static_cast<std::size_t>(id)];
    return producer < 0 ? home_stage(serial_, id) : serial_.nodes()[static_cast<std::size_t>(producer)].stage;
  }

  void add_sources() {
    for (ValueId id = 0; id < serial_.value_count(); ++id) {
      if (producers_[static_cast<std::size_t>(id)] >= 0) continue;
      const ValueInfo& info = serial_.value(id);
      const Value own = graph().source(info.name, source_type(id), info.role, info.attributes);
      add_form(id, {made_as(id), own});
      result_.sources[info.name] = shard_of(info.type, made_as(id), own.type().shape);
    }
  }

  void add_node(std::size_t number) {
    const Node& node = serial_.nodes()[number];
    const std::vector<PlacementRule>& rules = assignment_.rules[number];
    graph().set_phase(node.phase);
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      graph().set_stage(node.stage == kEveryStage ? stage_of(node.inputs[i]) : node.stage);
      Placements wanted;
      for (const PlacementRule& rule : rules) wanted.push_back(rule.inputs[i]);
      inputs.push_back(converted(node.inputs[i], wanted, node.name));
    }
    graph().set_stage(node.stage);
    Node own = node;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (!is_whole(rules[axis])) node.op->localize(own, rules[axis], share(axis));
    }
    const std::vector<Value> outputs = graph().apply(node.op->name(), inputs, own.attributes, node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i) add_output(node, node.outputs[i], outputs[i]);
  }

  void add_output(const Node& node, ValueId id, Value own) {
    const ValueInfo& info = serial_.value(id);
    const Type expected = local_type(info.type, made_as(id), options_.mesh);
    HOCKET_CHECK(own.type() == expected, "node {}: placed as {}, but the operator gives {}", node.name,
                 to_string(expected), to_string(own.type()));
    graph().value(own.id()).role = info.role;
    add_form(id, {made_as(id), own});
  }

  void add_form(ValueId id, const Form& form) {
    forms(id).push_back(form);
    result_.placements[form.value.id()] = form.placements;
  }

  static bool is_whole(const PlacementRule& rule) {
    const auto is_replicated = [](const Placement& placement) {
      return std::holds_alternative<Replicated>(placement);
    };
    return std::all_of(rule.inputs.begin(), rule.inputs.end(), is_replicated) &&
           std::all_of(rule.outputs.begin(), rule.outputs.end(), is_replicated);
  }

  double price(ValueId id, const Placements& from, const Placements& to) const {
    double sum = 0;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      const auto collective = collective_between(from[axis], to[axis]);
      if (!collective) return std::numeric_limits<double>::infinity();
      if (!collective->empty()) sum += options_.cost(*collective, whole_bytes(id, from, axis), axes_[axis]);
    }
    return sum;
  }

  // Of a rank's part before it is cut along `axis`.
  std::size_t whole_bytes(ValueId id, Placements placements, std::size_t axis) const {
    placements[axis] = Replicated{};
    return bytes_of(local_type(serial_.value(id).type, placements, options_.mesh));
  }

  Value converted(ValueId id, const Placements& wanted, const std::string& reader) {
    for (const Form& form : forms(id)) {
      if (form.placements == wanted) return form.value;
    }
    Form form = *std::min_element(forms(id).begin(), forms(id).end(), [&](const Form& a, const Form& b) {
      return price(id, a.placements, wanted) < price(id, b.placements, wanted);
    });
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (form.placements[axis] == wanted[axis]) continue;
      const std::size_t first = graph().nodes().size();
      form.value = convert(form.value, form.placements[axis], wanted[axis], axes_[axis], share(axis).index);
      record(id, form.placements, wanted[axis], axis, reader, first);
      form.placements[axis] = wanted[axis];
    }
    add_form(id, form);
    return form.value;
  }

  // A conversion by the nodes from `first` on.
  void record(ValueId id, const Placements& from, const Placement& to, std::size_t axis,
              const std::string& reader, std::size_t first) {
    const std::string collective(*collective_between(from[axis], to));
    if (collective.empty()) return;
    const std::size_t bytes = whole_bytes(id, from, axis);
    const auto node =
        std::find_if(graph().nodes().begin() + static_cast<std::ptrdiff_t>(first), graph().nodes().end(),
                     [&](const Node& added) { return added.op->name() == collective; });
    result_.conversions.push_back({collective, axes_[axis].name, serial_.value(id).name, reader, from[axis],
                                   to, axes_[axis].size, bytes, options_.cost(collective, bytes, axes_[axis]),
                                   graph().value(node->outputs[0]).name});
  }

  // Where no update reads it, as it is for somebody else.
  void require_gradient(ValueId parameter, const Gradient& gradient) {
    if (!gradient.value || gradient.row_ids) return;
    graph().set_phase(Phase::backward);
    graph().set_stage(home_stage(serial_, parameter));
    converted(gradient.value.id(), made_as(parameter), "a gradient");
  }

  // In the form that the update reads: it lies as its parameter does.
  Gradient own_gradient(ValueId parameter, const Gradient& gradient) {
    if (!gradient.value) return {};
    for (const Form& form : forms(gradient.value.id())) {
      if (gradient.row_ids || form.placements != made_as(parameter)) continue;
      graph().value(form.value.id()).role = Role::gradient;
      return {form.value, {}};
    }
    HOCKET_CHECK(gradient.row_ids, "parameter {} has no gradient that lies as it does",
                 serial_.value(parameter).name);
    return {forms(gradient.value.id())[0].value, forms(gradient.row_ids.id())[0].value};
  }

  Value whole_but_dp(ValueId id) {
    graph().set_phase(phase_of(id));
    graph().set_stage(stage_of(id));
    Placements wanted = made_as(id);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (axes_[axis].name != "dp") wanted[axis] = Replicated{};
    }
    return converted(id, wanted, "an output");
  }

  const Graph& serial_;
  const PlaceOptions& options_;
  const std::vector<Mesh::Axis>& axes_;
  Assignment assignment_;
  std::vector<int> producers_;
  std::vector<std::vector<Form>> forms_;  // By ValueId of the serial graph; the first is as it is made.
  PlacedGraph result_;
};

}  // namespace

int sparse_operand(const Graph& graph, ValueId input) {
  for (const Node& node : graph.nodes()) {
    if (node.op->name() != "csr_matmul") continue;
    for (int i = 0; i < 3; ++i) {
      if (node.inputs[static_cast<std::size_t>(i)] == input) return i;
    }
  }
  return -1;
}

Type local_type(const Type& global, const Placements& placements, const Mesh& mesh) {
  Type type = global;
  for (std::size_t axis = 0; axis < placements.size(); ++axis) {
    if (const auto* cut = std::get_if<Sharded>(&placements[axis]))
      type.shape[cut->dim] /= mesh.axes()[axis].size;
  }
  return type;
}

PlacedGraph place(const Graph& graph, std::span<const Gradient> gradients, const PlaceOptions& options) {
  return Placer(graph, options).run(gradients);
}

}  // namespace hocket
