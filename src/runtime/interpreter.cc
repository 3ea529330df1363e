#include "runtime/interpreter.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {

std::vector<Tensor> evaluate(const Graph& graph, const Sources& sources, KernelSet set) {
  std::vector<Tensor> values(static_cast<std::size_t>(graph.value_count()));
  for (const auto& [id, tensor] : sources) {
    const ValueInfo& info = graph.value(id);
    const Type type{tensor.dtype(), tensor.shape()};
    if (type != info.type) {
      throw ConfigError("{} is {}, but its tensor is {}", info.name, to_string(info.type), to_string(type));
    }
    values[static_cast<std::size_t>(id)] = tensor;
  }
  for (const Node& node : graph.nodes()) evaluate_node(graph, node, set, values);
  return values;
}

void evaluate_node(const Graph& graph, const Node& node, KernelSet set, std::vector<Tensor>& values) {
  std::vector<std::byte*> in;
  for (const ValueId id : node.inputs) {
    in.push_back(values[static_cast<std::size_t>(id)].bytes().data());
    if (in.back() == nullptr)
      throw ConfigError("node {} needs {}, which has no tensor", node.name, graph.value(id).name);
  }
  std::vector<std::byte*> out;
  for (const ValueId id : node.outputs) {
    Tensor& tensor = values[static_cast<std::size_t>(id)];
    tensor = Tensor(graph.value(id).type.dtype, graph.value(id).type.shape);
    out.push_back(tensor.bytes().data());
  }
  const std::unique_ptr<Kernel> kernel = lower(graph, node, set);
  const Arena scratch(std::max<std::size_t>(kernel->scratch_bytes(), 1));
  kernel->run(in, out, scratch.data());
}

}  // namespace hocket
