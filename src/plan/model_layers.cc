#include "plan/model_layers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/memory_plan.h"
#include "graph/stages.h"

namespace hocket {
namespace {

constexpr int kUnknown = -1;

std::size_t index(int number) { return static_cast<std::size_t>(number); }

double bytes_of(const ValueInfo& value) {
  return static_cast<double>(value.type.shape.count()) * static_cast<double>(size_of(value.type.dtype));
}

// That of the parameters that it is the first to read, or its own.
std::string name_of_layer(const Graph& graph, const Node& node, std::unordered_set<ValueId>& known) {
  std::string name = node.name;
  for (const ValueId id : node.inputs) {
    const std::string& parameter = graph.value(id).name;
    if (graph.value(id).role != Role::parameter || !known.insert(id).second) continue;
    name = parameter.substr(0, parameter.rfind('.'));
    break;
  }
  for (const ValueId id : node.inputs) known.insert(id);
  return name;
}

// The layers without their bytes.
std::vector<ModelLayer> cut(const Graph& graph) {
  std::vector<ModelLayer> layers;
  std::unordered_set<ValueId> known;
  const auto count = static_cast<int>(graph.nodes().size());
  for (int i = 0; i < count; ++i) {
    const Node& node = graph.nodes()[index(i)];
    if (!begins_layer(graph, node)) continue;
    if (!layers.empty()) layers.back().end_node = i;
    layers.push_back({name_of_layer(graph, node, known), layers.empty() ? 0 : i, count});
  }
  if (layers.empty() && count > 0) layers.push_back({graph.nodes().front().name, 0, count});
  return layers;
}

std::vector<int> layer_of_nodes(std::span<const ModelLayer> layers) {
  std::vector<int> result;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    result.resize(index(layers[layer].end_node), static_cast<int>(layer));
  }
  return result;
}

// By value of the forward graph: the layer that makes it, or that first reads it.
std::vector<int> homes_of(const Graph& forward, std::span<const ModelLayer> layers) {
  std::vector<int> homes(index(forward.value_count()), kUnknown);
  const std::vector<int> layer_of = layer_of_nodes(layers);
  for (std::size_t i = 0; i < forward.nodes().size(); ++i) {
    for (const ValueId id : forward.nodes()[i].inputs) {
      if (homes[index(id)] == kUnknown) homes[index(id)] = layer_of[i];
    }
    for (const ValueId id : forward.nodes()[i].outputs) homes[index(id)] = layer_of[i];
  }
  return homes;
}

// What nodes of a step have to do with values of the forward graph, by their names.
class Attribution {
 public:
  Attribution(const Graph& forward, std::span<const ModelLayer> layers, const Graph& step) : step_(step) {
    const std::vector<int> homes = homes_of(forward, layers);
    for (ValueId id = 0; id < forward.value_count(); ++id) {
      const ValueInfo& value = forward.value(id);
      if (value.role == Role::input) continue;
      homes_.emplace(value.name, homes[index(id)]);
      if (value.role == Role::parameter) homes_.emplace("d." + value.name, homes[index(id)]);
    }
    values_.assign(index(step.value_count()), kUnknown);
    for (ValueId id = 0; id < step.value_count(); ++id) values_[index(id)] = home_of(step.value(id).name);
  }

  int layer_of(const Node& node) {
    int named = kUnknown;  // The last of the forward graph's.
    int read = kUnknown;   // The first of those found on the way.
    for (const ValueId id : node.inputs) {
      const int home = home_of(step_.value(id).name);
      named = std::max(named, home);
      const int found = values_[index(id)];
      if (home == kUnknown && found != kUnknown) read = read == kUnknown ? found : std::min(read, found);
    }
    for (const ValueId id : node.outputs) named = std::max(named, home_of(step_.value(id).name));
    const int layer = std::max(0, named != kUnknown ? named : read);
    for (const ValueId id : node.outputs) {
      if (values_[index(id)] == kUnknown) values_[index(id)] = layer;
    }
    return layer;
  }

 private:
  int home_of(const std::string& name) const {
    const auto at = homes_.find(name);
    return at == homes_.end() ? kUnknown : at->second;
  }

  const Graph& step_;
  std::unordered_map<std::string, int> homes_;
  std::vector<int> values_;  // By ValueId of the step.
};

}  // namespace

std::vector<ModelLayer> layers_of(const Graph& forward) {
  std::vector<ModelLayer> layers = cut(forward);
  const std::vector<int> layer_of = layer_of_nodes(layers);
  const std::vector<int> homes = homes_of(forward, layers);
  std::vector<int> last_readers(index(forward.value_count()), kUnknown);
  for (std::size_t i = 0; i < forward.nodes().size(); ++i) {
    for (const ValueId id : forward.nodes()[i].inputs) last_readers[index(id)] = layer_of[i];
  }
  for (ValueId id = 0; id < forward.value_count(); ++id) {
    const ValueInfo& value = forward.value(id);
    if (value.role == Role::parameter && homes[index(id)] != kUnknown) {
      layers[index(homes[index(id)])].parameter_bytes += bytes_of(value);
    }
    if (value.role != Role::activation) continue;
    for (int layer = homes[index(id)]; layer < last_readers[index(id)]; ++layer) {
      layers[index(layer)].output_bytes += bytes_of(value);
    }
  }
  return layers;
}

std::vector<int> layers_of_step(const Graph& forward, std::span<const ModelLayer> layers, const Graph& step) {
  Attribution attribution(forward, layers, step);
  std::vector<int> result;
  result.reserve(step.nodes().size());
  for (const Node& node : step.nodes()) result.push_back(attribution.layer_of(node));
  return result;
}

std::vector<double> kept_bytes_of(const Graph& step, std::span<const int> layer_of_node, int layers) {
  std::vector<bool> is_kept(index(step.value_count()), false);
  for (const Node& node : step.nodes()) {
    if (node.phase != Phase::backward) continue;
    for (const ValueId id : node.inputs) is_kept[index(id)] = true;
  }
  std::vector<double> bytes(index(layers), 0);
  for (std::size_t i = 0; i < step.nodes().size(); ++i) {
    const Node& node = step.nodes()[i];
    if (node.phase != Phase::forward || is_alias(step, node)) continue;
    for (const ValueId id : node.outputs) {
      if (is_kept[index(id)]) bytes[index(layer_of_node[i])] += bytes_of(step.value(id));
    }
  }
  return bytes;
}

}  // namespace hocket
