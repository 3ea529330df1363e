#include "graph/passes/gradient_buckets.h"

#include <algorithm>
#include <map>
#include <set>

namespace hocket {
namespace {

const Node& node_at(const Graph& graph, int index) { return graph.nodes()[static_cast<std::size_t>(index)]; }

// By parameter: the node that sums its gradient, or -1.
std::vector<int> find_reductions(const Graph& graph, std::span<const Gradient> gradients) {
  std::map<ValueId, int> reduction_of;  // By the sum.
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op->name() == "all_reduce" && node.inputs.size() == 1)
      reduction_of[node.outputs[0]] = static_cast<int>(i);
  }
  std::vector<int> reductions;
  for (const Gradient& gradient : gradients) {
    const auto at = gradient.value ? reduction_of.find(gradient.value.id()) : reduction_of.end();
    reductions.push_back(at == reduction_of.end() ? -1 : at->second);
  }
  return reductions;
}

bool is_alike(const Graph& graph, const Node& a, const Node& b) {
  return a.attributes == b.attributes &&
         graph.value(a.outputs[0]).type.dtype == graph.value(b.outputs[0]).type.dtype;
}

// Each bucket right behind the node that makes its last term; where its terms are sources, in place of its
// first reduction.
void place_nodes(Graph& graph, std::span<const GradientBucket> buckets, std::vector<BucketNodes>& nodes) {
  std::set<int> replaced;
  for (const GradientBucket& bucket : buckets)
    replaced.insert(bucket.reductions.begin(), bucket.reductions.end());
  std::vector<Node> old = std::exchange(graph.nodes(), {});
  const auto append = [&](std::vector<Node>& more) {
    std::move(more.begin(), more.end(), std::back_inserter(graph.nodes()));
    more.clear();
  };
  bool is_finished = false;
  for (int i = 0; i < static_cast<int>(old.size()); ++i) {
    Node& node = old[static_cast<std::size_t>(i)];
    const bool begins_update = node.phase == Phase::update && !is_finished;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const bool is_of_sources = buckets[b].last_producer < 0;
      if (is_of_sources && buckets[b].first_reduction == i) append(nodes[b].start);
      if (is_of_sources ? buckets[b].first_reduction == i : begins_update) append(nodes[b].finish);
    }
    is_finished = is_finished || begins_update;
    if (!replaced.contains(i)) graph.nodes().push_back(std::move(node));
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      if (buckets[b].last_producer == i) append(nodes[b].start);
    }
  }
}

// A node runs when the last bucket that it depends on is there.
void update_in_order_of_arrival(Graph& graph, std::map<ValueId, int> arrival) {
  const auto first = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                  [](const Node& node) { return node.phase == Phase::update; });
  std::vector<std::pair<int, Node>> updates;
  for (auto node = first; node != graph.nodes().end(); ++node) {
    int order = -1;
    for (const std::vector<ValueId>& operands : {node->inputs, node->outputs}) {
      for (const ValueId id : operands) {
        if (const auto at = arrival.find(id); at != arrival.end()) order = std::max(order, at->second);
      }
    }
    for (const ValueId id : node->outputs) arrival[id] = order;
    updates.emplace_back(order, std::move(*node));
  }
  std::stable_sort(updates.begin(), updates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(updates.begin(), updates.end(), first,
                 [](auto& ordered) { return std::move(ordered.second); });
}

}  // namespace

std::vector<GradientBucket> find_gradient_buckets(const Graph& graph, std::span<const Gradient> gradients,
                                                  std::size_t bytes) {
  const std::vector<int> producer = producers(graph), reductions = find_reductions(graph, gradients);
  std::vector<GradientBucket> buckets;
  bool is_open = false;
  std::size_t filled = 0;
  for (auto reduction = reductions.rbegin(); reduction != reductions.rend(); ++reduction) {
    if (*reduction < 0) {
      is_open = false;
      continue;
    }
    const Node& node = node_at(graph, *reduction);
    is_open =
        is_open && filled < bytes && is_alike(graph, node, node_at(graph, buckets.back().reductions.front()));
    if (!is_open) {
      buckets.push_back({{}, -1, *reduction});
      filled = 0;
      is_open = true;
    }
    GradientBucket& bucket = buckets.back();
    bucket.reductions.insert(bucket.reductions.begin(), *reduction);
    bucket.first_reduction = std::min(bucket.first_reduction, *reduction);
    bucket.last_producer = std::max(bucket.last_producer, producer[static_cast<std::size_t>(node.inputs[0])]);
    filled += bytes_of(graph.value(node.outputs[0]).type);
  }
  return buckets;
}

Phase phase_of(const Graph& graph, const GradientBucket& bucket) {
  const bool is_of_sources = bucket.last_producer < 0;
  return node_at(graph, is_of_sources ? bucket.first_reduction : bucket.last_producer).phase;
}

Node joined_reduction(const Graph& graph, const GradientBucket& bucket, std::size_t number) {
  Node joined = node_at(graph, bucket.reductions.back());
  joined.name = joined.attributes.text("axis", "") + ".bucket" + std::to_string(number);
  joined.inputs.clear();
  joined.outputs.clear();
  for (const int reduction : bucket.reductions) {
    joined.inputs.push_back(node_at(graph, reduction).inputs[0]);
    joined.outputs.push_back(node_at(graph, reduction).outputs[0]);
  }
  joined.phase = phase_of(graph, bucket);
  return joined;
}

void replace_reductions(Graph& graph, std::span<const GradientBucket> buckets,
                        std::vector<BucketNodes> nodes) {
  if (buckets.empty()) return;
  std::map<ValueId, int> arrival;
  bool is_sortable = true;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    is_sortable = is_sortable && phase_of(graph, buckets[b]) != Phase::update;
    for (const int reduction : buckets[b].reductions)
      arrival[node_at(graph, reduction).outputs[0]] = static_cast<int>(b);
    for (const Node& node : nodes[b].finish) {
      for (const ValueId id : node.outputs) arrival[id] = static_cast<int>(b);
    }
  }
  place_nodes(graph, buckets, nodes);
  if (is_sortable) update_in_order_of_arrival(graph, std::move(arrival));
}

}  // namespace hocket
