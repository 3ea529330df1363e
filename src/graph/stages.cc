#include "graph/stages.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/operator.h"

namespace hocket {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> items;
  for (;;) {
    const std::size_t at = text.find(separator);
    items.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return items;
    text.remove_prefix(at + 1);
  }
}

double work_of(const Graph& graph, const Node& node) {
  std::vector<Type> inputs, outputs;
  for (const ValueId id : node.inputs) inputs.push_back(graph.value(id).type);
  for (const ValueId id : node.outputs) outputs.push_back(graph.value(id).type);
  return node.op->flops(node, inputs, outputs);
}

// The layers that the user has named, and where.
class NamedStages {
 public:
  NamedStages(const Graph& graph, std::string_view names, int parts) : graph_(graph) {
    const std::vector<std::string_view> stages = split(names, '|');
    if (static_cast<int>(stages.size()) != parts) {
      throw ConfigError("stages: '{}' names {} stages, but the pipeline has {}", names, stages.size(), parts);
    }
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      for (const std::string_view layer : split(stages[stage], ',')) add(layer, static_cast<int>(stage));
    }
  }

  std::optional<int> stage_of(const Node& node) const {
    std::optional<int> stage;
    std::size_t longest = 0;
    for (const Layer& layer : layers_) {
      if (layer.name.size() < longest || !has(node, layer.name)) continue;
      longest = layer.name.size();
      stage = layer.stage;
    }
    return stage;
  }

 private:
  struct Layer {
    std::string_view name;
    int stage;
  };

  void add(std::string_view name, int stage) {
    if (name.empty()) throw ConfigError("stages: stage {} is empty; name its layers", stage);
    const auto& nodes = graph_.nodes();
    const bool is_known =
        std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) { return has(node, name); });
    if (!is_known) {
      std::vector<std::string_view> known;
      known.reserve(nodes.size());
      for (const Node& node : nodes) known.emplace_back(node.name);
      throw ConfigError("stages: the model has no layer {}{}", name, did_you_mean(name, known));
    }
    for (const Layer& layer : layers_) {
      if (layer.name == name) throw ConfigError("stages: layer {} is named twice", name);
    }
    layers_.push_back({name, stage});
  }

  bool has(const Node& node, std::string_view layer) const {
    if (is_within(node.name, layer)) return true;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return graph_.value(id).role == Role::parameter && is_within(graph_.value(id).name, layer);
    });
  }

  const Graph& graph_;
  std::vector<Layer> layers_;
};

void assign_by_name(Graph& graph, int parts, std::string_view names) {
  const NamedStages named(graph, names, parts);
  const std::vector<int> producer = producers(graph);
  std::vector<bool> is_free(graph.nodes().size(), false);  // Not named, and reads nothing but sources.
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& node = graph.nodes()[i];
    int latest = -1;
    for (const ValueId id : node.inputs) {
      const int maker = producer[static_cast<std::size_t>(id)];
      if (maker >= 0 && !is_free[static_cast<std::size_t>(maker)])
        latest = std::max(latest, graph.nodes()[static_cast<std::size_t>(maker)].stage);
    }
    const std::optional<int> given = named.stage_of(node);
    is_free[i] = !given && latest < 0;
    node.stage = given.value_or(std::max(latest, 0));
  }
  // What reads the data alone goes where it is first needed.
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    if (!is_free[i]) continue;
    int earliest = parts;
    for (const Node& reader : graph.nodes()) {
      for (const ValueId id : reader.inputs) {
        if (producer[static_cast<std::size_t>(id)] == static_cast<int>(i))
          earliest = std::min(earliest, reader.stage);
      }
    }
    graph.nodes()[i].stage = earliest == parts ? 0 : earliest;
  }
}

// The cuts that make the largest stage smallest: least[p][i] is that of the first p stages up to point i.
std::vector<int> even_cuts(const std::vector<double>& work, std::vector<int> begins, int nodes, int parts) {
  begins.insert(begins.begin(), 0);
  begins.push_back(nodes);
  std::vector<double> sums(work.size() + 1, 0);
  std::partial_sum(work.begin(), work.end(), sums.begin() + 1);
  const std::size_t points = begins.size();
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(static_cast<std::size_t>(parts) + 1,
                                         std::vector<double>(points, never));
  std::vector<std::vector<std::size_t>> from(static_cast<std::size_t>(parts) + 1,
                                             std::vector<std::size_t>(points, 0));
  least[0][0] = 0;
  for (std::size_t part = 1; part <= static_cast<std::size_t>(parts); ++part) {
    for (std::size_t end = 1; end < points; ++end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        const double own =
            sums[static_cast<std::size_t>(begins[end])] - sums[static_cast<std::size_t>(begins[begin])];
        const double largest = std::max(least[part - 1][begin], own);
        if (largest >= least[part][end]) continue;
        least[part][end] = largest;
        from[part][end] = begin;
      }
    }
  }
  std::vector<int> cuts;
  std::size_t end = points - 1;
  for (auto part = static_cast<std::size_t>(parts); part > 1; --part) {
    end = from[part][end];
    cuts.insert(cuts.begin(), begins[end]);
  }
  return cuts;
}

void assign_evenly(Graph& graph, int parts) {
  const std::vector<CutPoint> all = cut_points(graph);
  int narrowest = std::numeric_limits<int>::max();
  for (const CutPoint& point : all) narrowest = std::min(narrowest, point.values);
  std::vector<int> points;
  for (const bool narrow_only : {true, false}) {
    points.clear();
    for (const CutPoint& point : all) {
      if (!narrow_only || point.values == narrowest) points.push_back(point.node);
    }
    if (static_cast<int>(points.size()) >= parts - 1) break;
  }
  if (static_cast<int>(points.size()) < parts - 1) {
    throw ConfigError("stages: the model can be cut in {} stages at most, and {} are wanted",
                      points.size() + 1, parts);
  }
  std::vector<double> work;
  for (const Node& node : graph.nodes()) work.push_back(work_of(graph, node));
  const std::vector<int> cuts = even_cuts(work, points, static_cast<int>(graph.nodes().size()), parts);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    graph.nodes()[i].stage =
        static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), static_cast<int>(i)) - cuts.begin());
  }
}

void check_stages(const Graph& graph, int parts) {
  const std::vector<int> producer = producers(graph);
  std::vector<bool> has_layer(static_cast<std::size_t>(parts), false);
  for (const Node& node : graph.nodes()) {
    has_layer[static_cast<std::size_t>(node.stage)] = true;
    for (const ValueId id : node.inputs) {
      const int maker = producer[static_cast<std::size_t>(id)];
      if (maker < 0 || graph.nodes()[static_cast<std::size_t>(maker)].stage <= node.stage) continue;
      throw ConfigError("stages: {} of stage {} needs {} of stage {}, which comes later", node.name,
                        node.stage, graph.nodes()[static_cast<std::size_t>(maker)].name,
                        graph.nodes()[static_cast<std::size_t>(maker)].stage);
    }
  }
  const auto empty = std::find(has_layer.begin(), has_layer.end(), false);
  if (empty != has_layer.end())
    throw ConfigError("stages: stage {} of {} is empty", empty - has_layer.begin(), parts);
}

}  // namespace

bool begins_layer(const Graph& graph, const Node& node) {
  if (node.op->name() == "add" || node.op->name() == "bn_apply") return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return graph.value(id).role == Role::parameter; });
}

bool is_within(std::string_view name, std::string_view layer) {
  return name.starts_with(layer) && (name.size() == layer.size() || name[layer.size()] == '.');
}

std::vector<CutPoint> cut_points(const Graph& graph) {
  const std::vector<int> producer = producers(graph);
  const auto count = static_cast<int>(graph.nodes().size());
  std::vector<int> last_use(static_cast<std::size_t>(graph.value_count()), -1);
  for (int i = 0; i < count; ++i) {
    for (const ValueId id : graph.nodes()[static_cast<std::size_t>(i)].inputs)
      last_use[static_cast<std::size_t>(id)] = i;
  }
  std::vector<CutPoint> points;
  bool has_layer_before = false;
  for (int i = 0; i < count; ++i) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(i)];
    const bool is_layer = begins_layer(graph, node);
    if (is_layer && has_layer_before) {
      int values = 0;
      for (std::size_t id = 0; id < last_use.size(); ++id)
        values += producer[id] >= 0 && producer[id] < i && last_use[id] >= i ? 1 : 0;
      points.push_back({i, values});
    }
    has_layer_before = has_layer_before || is_layer;
  }
  return points;
}

void assign_stages(Graph& forward, int parts, std::string_view names) {
  if (parts == 1) {
    if (!names.empty()) throw ConfigError("stages: '{}' needs a pipeline, such as --mesh pp=2", names);
    return;
  }
  if (names.empty()) {
    assign_evenly(forward, parts);
  } else {
    assign_by_name(forward, parts, names);
  }
  check_stages(forward, parts);
}

int home_stage(const Graph& graph, ValueId source) {
  for (const Node& node : graph.nodes()) {
    if (std::find(node.inputs.begin(), node.inputs.end(), source) != node.inputs.end()) return node.stage;
  }
  return 0;
}

}  // namespace hocket
