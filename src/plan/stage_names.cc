#include "plan/stage_names.h"

#include "graph/stages.h"

namespace hocket {
namespace {

// The outermost scope of the layer's name that has nodes of layers [first, end) only.
std::string_view widest_scope(const Graph& forward, std::span<const ModelLayer> layers, std::size_t first,
                              std::size_t end, std::string_view name) {
  const int first_node = layers[first].first_node;
  const int end_node = layers[end - 1].end_node;
  const auto count = static_cast<int>(forward.nodes().size());
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const std::string_view scope = name.substr(0, dot);
    bool is_inside = true;
    for (int i = 0; i < count; ++i) {
      const bool is_ours = i >= first_node && i < end_node;
      if (!is_ours && is_within(forward.nodes()[static_cast<std::size_t>(i)].name, scope)) is_inside = false;
    }
    if (is_inside) return scope;
  }
  return name;
}

}  // namespace

std::string stage_names(const Graph& forward, std::span<const ModelLayer> layers, std::span<const int> ends) {
  std::string text;
  std::size_t first = 0;
  for (const int last : ends) {
    const auto end = static_cast<std::size_t>(last);
    std::string_view written;
    if (first > 0) text += '|';
    for (std::size_t i = first; i < end; ++i) {
      const std::string_view name = widest_scope(forward, layers, first, end, layers[i].name);
      if (name == written) continue;
      if (i > first) text += ',';
      text += name;
      written = name;
    }
    first = end;
  }
  return text;
}

}  // namespace hocket
