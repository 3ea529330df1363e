#include "graph/dot.h"

#include <fmt/format.h>

#include "graph/operator.h"

namespace hocket {
namespace {

constexpr std::string_view kPhaseNames[kPhases] = {"forward", "backward", "update"};

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

class DotPrinter {
 public:
  DotPrinter(const Graph& graph, const std::function<std::string(ValueId)>& note)
      : graph_(graph), note_(note), producers_(producers(graph)) {}

  std::string run() {
    text_ =
        "digraph hocket {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", "
        "fontsize=10];\n";
    print_sources();
    for (int phase = 0; phase < kPhases; ++phase) print_phase(phase);
    print_edges();
    return std::move(text_) + "}\n";
  }

 private:
  void print_sources() {
    std::vector<bool> is_used(producers_.size(), false);
    for (const Node& node : graph_.nodes()) {
      for (const ValueId id : node.inputs) is_used[static_cast<std::size_t>(id)] = true;
    }
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const auto i = static_cast<std::size_t>(id);
      if (producers_[i] >= 0 || !is_used[i]) continue;
      text_ += fmt::format("  v{} [shape=ellipse, label={}];\n", id, quoted(graph_.value(id).name));
    }
  }

  void print_phase(int phase) {
    std::string boxes;
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (static_cast<int>(node.phase) != phase) continue;
      std::string label = fmt::format("{}\n{}", node.name, node.op->name());
      if (!node.attributes.entries().empty()) label += fmt::format("\n{}", to_string(node.attributes));
      const bool communicates = node.attributes.has("axis") && node.attributes.has("ranks");
      boxes += fmt::format("    n{} [label={}{}];\n", i, quoted(label),
                           communicates ? ", style=filled, fillcolor=\"#f4b183\"" : "");
    }
    if (boxes.empty()) return;
    text_ += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n{}  }}\n", phase, kPhaseNames[phase],
                         boxes);
  }

  void print_edges() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      for (const ValueId id : graph_.nodes()[i].inputs) {
        text_ += fmt::format("  {} -> n{} [label={}];\n", origin(id), i, label(id));
      }
    }
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const auto& [name, id] = graph_.outputs()[i];
      text_ += fmt::format("  o{} [shape=doubleoctagon, label={}];\n", i, quoted(name));
      text_ += fmt::format("  {} -> o{} [label={}];\n", origin(id), i, label(id));
    }
  }

  std::string label(ValueId id) const {
    std::string text = to_string(graph_.value(id).type);
    if (const std::string note = note_ ? note_(id) : ""; !note.empty()) text += '\n' + note;
    return quoted(text);
  }

  std::string origin(ValueId id) const {
    const int node = producers_[static_cast<std::size_t>(id)];
    return node >= 0 ? fmt::format("n{}", node) : fmt::format("v{}", id);
  }

  const Graph& graph_;
  const std::function<std::string(ValueId)>& note_;
  std::vector<int> producers_;
  std::string text_;
};

}  // namespace

std::string print_dot(const Graph& graph, const std::function<std::string(ValueId)>& note) {
  return DotPrinter(graph, note).run();
}

}  // namespace hocket
