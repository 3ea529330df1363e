#include "train/diagnose.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

template <typename T>
std::int64_t first_bad_index(std::span<const T> values) {
  const auto at = std::find_if(values.begin(), values.end(), [](T x) { return !std::isfinite(x); });
  return at == values.end() ? -1 : at - values.begin();
}

std::int64_t first_bad_index(const Tensor& tensor) {
  if (tensor.bytes().data() == nullptr) return -1;
  if (tensor.dtype() == DType::f32) return first_bad_index<float>(tensor.values<float>());
  if (tensor.dtype() == DType::f64) return first_bad_index<double>(tensor.values<double>());
  return -1;
}

}  // namespace

std::string first_bad_tensor(Executable& executable, Slot& slot, const Bindings& bindings) {
  const Graph& graph = executable.graph();
  std::string found;
  const auto look = [&](std::string_view what, ValueId id) {
    if (!found.empty()) return;
    const std::int64_t index = first_bad_index(executable.view(slot, bindings, id));
    if (index < 0) return;
    const ValueInfo& value = graph.value(id);
    found = fmt::format("{} {} {} has a value that is not finite at index {}", what, value.name,
                        to_string(value.type), index);
  };
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::forward) continue;
    for (const ValueId id : node.inputs) {
      if (graph.value(id).role == Role::input) look("input", id);
      if (graph.value(id).role == Role::parameter) look("parameter", id);
    }
  }
  const Executable::Observer observer = [&](int index) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(index)];
    for (const ValueId id : node.outputs) look("the output of", id);
  };
  const bool is_stage = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                    [](const Node& node) { return node.op->name() == "receive"; });
  if (!is_stage) executable.run(Phase::forward, slot, bindings, &observer);  // What others sent is gone.
  return found.empty() ? "no single tensor is to blame" : found;
}

}  // namespace hocket
