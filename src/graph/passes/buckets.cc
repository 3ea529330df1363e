#include <algorithm>
#include <map>
#include <set>

#include "graph/passes/passes.h"

namespace hocket {
namespace {

struct Bucket {
  Node node;
  int last_producer = -1;   // Of its terms; -1 when they are sources.
  int first_reduction = 0;  // Of the nodes that it replaces.
};

class Bucketer {
 public:
  Bucketer(Graph& graph, std::span<const Gradient> gradients, std::size_t bytes)
      : graph_(graph), producers_(producers(graph)), bytes_(bytes) {
    std::map<ValueId, int> reduction_of;  // By the sum.
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      if (node.op->name() == "all_reduce" && node.inputs.size() == 1)
        reduction_of[node.outputs[0]] = static_cast<int>(i);
    }
    for (const Gradient& gradient : gradients) {
      const auto at = gradient.value ? reduction_of.find(gradient.value.id()) : reduction_of.end();
      reductions_.push_back(at == reduction_of.end() ? -1 : at->second);
    }
  }

  void run() {
    make_buckets();
    if (buckets_.empty()) return;
    place_buckets();
    update_in_order_of_arrival();
  }

 private:
  Node& node_at(int index) { return graph_.nodes()[static_cast<std::size_t>(index)]; }

  // Backward makes the last gradients first.
  void make_buckets() {
    std::vector<int> members;  // Reductions, the last parameter first.
    std::size_t bytes = 0;
    for (auto reduction = reductions_.rbegin(); reduction != reductions_.rend(); ++reduction) {
      const bool fits = *reduction >= 0 && (members.empty() || is_alike(*reduction, members[0]));
      if (!fits || bytes >= bytes_) {
        close(members);
        bytes = 0;
      }
      if (*reduction < 0) continue;
      members.push_back(*reduction);
      const Type& type = graph_.value(node_at(*reduction).outputs[0]).type;
      bytes += static_cast<std::size_t>(type.shape.count()) * size_of(type.dtype);
    }
    close(members);
  }

  bool is_alike(int a, int b) {
    return node_at(a).attributes == node_at(b).attributes &&
           graph_.value(node_at(a).outputs[0]).type.dtype == graph_.value(node_at(b).outputs[0]).type.dtype;
  }

  void close(std::vector<int>& members) {
    if (members.empty()) return;
    Bucket bucket;
    bucket.node = node_at(members[0]);
    bucket.node.name = bucket.node.attributes.text("axis", "") + ".bucket" + std::to_string(buckets_.size());
    bucket.node.inputs.clear();
    bucket.node.outputs.clear();
    bucket.first_reduction = *std::min_element(members.begin(), members.end());
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      const Node& single = node_at(*member);
      bucket.node.inputs.push_back(single.inputs[0]);
      bucket.node.outputs.push_back(single.outputs[0]);
      bucket.last_producer =
          std::max(bucket.last_producer, producers_[static_cast<std::size_t>(single.inputs[0])]);
      replaced_.insert(*member);
    }
    if (bucket.last_producer >= 0) bucket.node.phase = node_at(bucket.last_producer).phase;
    buckets_.push_back(std::move(bucket));
    members.clear();
  }

  // Each right behind the node that makes its last term.
  void place_buckets() {
    std::vector<Node> nodes;
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      for (const Bucket& bucket : buckets_) {
        if (bucket.last_producer < 0 && bucket.first_reduction == i) nodes.push_back(bucket.node);
      }
      if (!replaced_.contains(i)) nodes.push_back(std::move(node_at(i)));
      for (const Bucket& bucket : buckets_) {
        if (bucket.last_producer == i) nodes.push_back(bucket.node);
      }
    }
    graph_.nodes() = std::move(nodes);
  }

  void update_in_order_of_arrival() {
    std::map<ValueId, int> arrival;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i].node.phase == Phase::update) return;
      for (const ValueId id : buckets_[i].node.outputs) arrival[id] = static_cast<int>(i);
    }
    const auto order_of = [&](const Node& node) {
      int order = -1;
      if (node.op->updates().empty()) return order;
      for (const ValueId id : node.inputs) {
        if (const auto at = arrival.find(id); at != arrival.end()) order = std::max(order, at->second);
      }
      return order;
    };
    const auto first = std::find_if(graph_.nodes().begin(), graph_.nodes().end(),
                                    [](const Node& node) { return node.phase == Phase::update; });
    std::stable_sort(first, graph_.nodes().end(), [&](const Node& a, const Node& b) {
      return a.phase == Phase::update && b.phase == Phase::update && order_of(a) < order_of(b);
    });
  }

  Graph& graph_;
  std::vector<int> producers_;
  std::size_t bytes_;
  std::vector<int> reductions_;  // Of each parameter's gradient: the node, or -1.
  std::vector<Bucket> buckets_;
  std::set<int> replaced_;
};

}  // namespace

void bucket_gradients(Graph& graph, std::span<const Gradient> gradients, std::size_t bytes) {
  Bucketer(graph, gradients, bytes).run();
}

}  // namespace hocket
