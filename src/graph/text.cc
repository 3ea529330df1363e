#include "graph/text.h"

#include <fmt/format.h>

#include <vector>

#include "graph/operator.h"

namespace hocket {
namespace {

constexpr std::string_view kPhaseNames[kPhases] = {"forward", "backward", "update"};

// The word that a source's line starts with; empty for values that a node computes.
std::string_view keyword(Role role) {
  switch (role) {
    case Role::input: return "input";
    case Role::parameter: return "parameter";
    case Role::buffer: return "buffer";
    case Role::state: return "state";
    case Role::activation:
    case Role::gradient: break;
  }
  return {};
}

// Whether an operand's first dimension grows with the batch: those of these operators say.
enum class FirstDim : std::uint8_t { samples, fixed, entries, offsets };

FirstDim first_dim_of_operand(const Node& node, std::size_t operand) {
  const std::string_view op = node.op->name();
  if (op == "dropout" && operand == 1) return FirstDim::fixed;
  if (node.phase == Phase::update) return FirstDim::fixed;
  if (op == "csr_matmul" && operand < 2) return FirstDim::entries;
  if (op == "csr_matmul" && operand == 2) return FirstDim::offsets;
  return FirstDim::samples;
}

class TextPrinter {
 public:
  explicit TextPrinter(const Graph& graph)
      : graph_(graph), first_dims_(static_cast<std::size_t>(graph.value_count()), FirstDim::samples) {
    for (ValueId id = 0; id < graph.value_count(); ++id) {
      const ValueInfo& value = graph.value(id);
      if (value.name == "weight" && value.role == Role::input && value.type.shape.rank() == 1) {
        batch_ = value.type.shape[0];
      }
    }
    for (const Node& node : graph.nodes()) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const FirstDim first = first_dim_of_operand(node, i);
        if (first != FirstDim::samples) first_dims_[static_cast<std::size_t>(node.inputs[i])] = first;
      }
    }
  }

  std::string run() {
    print_sources();
    bool is_step = false;
    for (const Node& node : graph_.nodes()) is_step = is_step || node.phase != Phase::forward;
    int heading = is_step ? -1 : 0;
    for (const Node& node : graph_.nodes()) {
      if (const int phase = static_cast<int>(node.phase); phase != heading) {
        text_ += fmt::format("# {}\n", kPhaseNames[phase]);
        heading = phase;
      }
      print_node(node);
    }
    for (const auto& [name, id] : graph_.outputs()) {
      text_ += fmt::format("output {} = {}\n", name, graph_.value(id).name);
    }
    return std::move(text_);
  }

 private:
  void print_sources() {
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const ValueInfo& value = graph_.value(id);
      const std::string_view word = keyword(value.role);
      if (word.empty()) continue;
      const std::string type = value.role == Role::input ? batched(id) : to_string(value.type);
      text_ += fmt::format("{} {} {}", word, value.name, type);
      if (!value.attributes.entries().empty()) text_ += fmt::format(" {}", to_string(value.attributes));
      text_ += '\n';
    }
  }

  void print_node(const Node& node) {
    std::string types;
    for (const ValueId id : node.outputs) types += (types.empty() ? "" : ", ") + batched(id);
    std::string line = fmt::format("{} = {}({})", node.outputs.empty() ? node.name : names(node.outputs),
                                   node.op->name(), names(node.inputs));
    if (!node.attributes.entries().empty()) line += fmt::format(" {}", to_string(node.attributes));
    text_ += types.empty() ? line : fmt::format("{:<63} # {}", line, types);
    text_ += '\n';
  }

  std::string names(const std::vector<ValueId>& ids) const {
    std::string text;
    for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + graph_.value(id).name;
    return text;
  }

  std::string batched(ValueId id) const {
    const Type& type = graph_.value(id).type;
    if (type.shape.rank() == 0 || graph_.value(id).role == Role::gradient) return to_string(type);
    std::string dims = first_dim(type.shape[0], first_dims_[static_cast<std::size_t>(id)]);
    for (int dim = 1; dim < type.shape.rank(); ++dim) dims += fmt::format(",{}", type.shape[dim]);
    return fmt::format("{}[{}]", name_of(type.dtype), dims);
  }

  std::string first_dim(std::int64_t size, FirstDim kind) const {
    if (kind == FirstDim::samples && size == batch_) return "N";
    if (kind == FirstDim::offsets && batch_ > 0 && size == batch_ + 1) return "N+1";
    if (kind == FirstDim::entries && batch_ > 0 && size % batch_ == 0) {
      return fmt::format("{}*N", size / batch_);
    }
    return std::to_string(size);
  }

  const Graph& graph_;
  std::vector<FirstDim> first_dims_;
  std::int64_t batch_ = 0;  // 0 when the graph has no sample weights.
  std::string text_;
};

}  // namespace

std::string print_text(const Graph& graph) { return TextPrinter(graph).run(); }

}  // namespace hocket
