#include "graph/flat_buckets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "graph/gradient_sources.h"
#include "graph/operators/operands.h"
#include "tensor/arena.h"

namespace hocket {

std::vector<FlatBucket> make_flat_buckets(const Graph& graph, std::span<const Gradient> gradients,
                                          const ZeroOptions& options) {
  const GradientSources sources(graph);
  const std::vector<ValueId> parameters = graph.values_of(Role::parameter);
  std::vector<FlatBucket> buckets;
  std::int64_t end = 0;
  int chunk = 0;  // Of the last bucket: it is summed when the chunk has gone backward.
  // Every block of squares is of one slice, so that slices do not change how they are added up.
  const auto line_of = [&](DType dtype) {
    return sources.squares() != GradientSource::kNone
               ? kSquareBlock
               : static_cast<std::int64_t>(kAlignment / size_of(dtype));
  };
  const auto close = [&] {
    if (buckets.empty()) return;
    const std::int64_t line = line_of(buckets.back().dtype);
    buckets.back().slice = (end + options.share.count * line - 1) / (options.share.count * line) * line;
    end = 0;
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ValueInfo& value = graph.value(parameters[i]);
    const std::optional<GradientSource> source = sources.source_of(parameters[i], gradients[i]);
    if (!source) continue;
    const int own_chunk = sources.node(source->maker).stage;
    const std::size_t bytes = static_cast<std::size_t>(end) * size_of(value.type.dtype);
    if (buckets.empty() || bytes >= options.bucket_bytes || buckets.back().dtype != value.type.dtype ||
        own_chunk != chunk) {
      close();
      buckets.push_back({fmt::format("zero.{}", buckets.size()), value.type.dtype, 0, {}});
    }
    chunk = own_chunk;
    buckets.back().members.push_back({value.name, value.type, end});
    const std::int64_t line = line_of(value.type.dtype);
    end += (value.type.shape.count() + line - 1) / line * line;
  }
  close();
  return buckets;
}

namespace {

class BucketUser {
 public:
  BucketUser(Graph& graph, std::span<const FlatBucket> buckets, const ZeroOptions& options)
      : graph_(graph), buckets_(buckets), options_(options) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      sources_.push_back(bucket_source(graph, buckets[b], options));
      for (std::size_t m = 0; m < buckets[b].members.size(); ++m) {
        const Value parameter = graph.find(buckets[b].members[m].name);
        graph.value(parameter.id()).role = Role::activation;  // A view takes its place.
        homes_[parameter.id()] = {b, m};
      }
    }
  }

  void run() {
    find_orders();
    std::vector<Node> old = std::exchange(graph_.nodes(), {});
    for (Node& node : old) {
      // Updates of level 3 work on slices alone.
      if (options_.level == 3 && node.phase == Phase::update) {
        graph_.nodes().push_back(std::move(node));
        continue;
      }
      graph_.set_phase(node.phase);
      for (ValueId& id : node.inputs) {
        if (const auto at = homes_.find(id); at != homes_.end()) id = member(at->second, node.phase).id();
      }
      graph_.nodes().push_back(std::move(node));
    }
    graph_.set_phase(Phase::forward);
  }

 private:
  struct Home {
    std::size_t bucket;
    std::size_t member;
  };

  // A bucket as one phase uses it; below level 3 all phases share the first.
  struct InPhase {
    std::vector<std::size_t> order;      // Buckets by first use.
    std::map<std::size_t, Value> whole;  // By bucket.
    std::map<std::pair<std::size_t, std::size_t>, Value> views;
  };

  void find_orders() {
    for (const Node& node : graph_.nodes()) {
      std::vector<std::size_t>& order = phases_[static_cast<std::size_t>(node.phase)].order;
      for (const ValueId id : node.inputs) {
        const auto at = homes_.find(id);
        if (at == homes_.end() || std::find(order.begin(), order.end(), at->second.bucket) != order.end())
          continue;
        order.push_back(at->second.bucket);
      }
    }
  }

  Value member(Home home, Phase phase) {
    InPhase& in_phase = phases_[options_.level == 3 ? static_cast<std::size_t>(phase) : 0];
    Value& own = in_phase.views[{home.bucket, home.member}];
    if (own) return own;
    const Value vector = whole(in_phase, home.bucket);
    const FlatMember& member = buckets_[home.bucket].members[home.member];
    own = view_of_vector(graph_, vector, member.begin, member.type.shape, member.name + ".view");
    return own;
  }

  Value whole(InPhase& in_phase, std::size_t bucket) {
    if (options_.level < 3) return sources_[bucket];
    const Value own = gather(in_phase, bucket);
    const auto next = std::find(in_phase.order.begin(), in_phase.order.end(), bucket) + 1;
    if (next < in_phase.order.end()) gather(in_phase, *next);
    return own;
  }

  Value gather(InPhase& in_phase, std::size_t bucket) {
    Value& own = in_phase.whole[bucket];
    if (!own)
      own = graph_.add("all_gather", {sources_[bucket]}, along_dp(options_),
                       buckets_[bucket].name + ".gathered");
    return own;
  }

  Graph& graph_;
  std::span<const FlatBucket> buckets_;
  const ZeroOptions& options_;
  std::vector<Value> sources_;
  std::unordered_map<ValueId, Home> homes_;
  InPhase phases_[kPhases];
};

}  // namespace

Attributes along_dp(const ZeroOptions& options) {
  return {{"axis", "dp"}, {"ranks", std::int64_t{options.share.count}}};
}

Value view_of_vector(Graph& graph, Value vector, std::int64_t begin, const Shape& shape,
                     const std::string& name) {
  return graph.add("view", {vector}, {{"begin", begin}, {"shape", dims_of(shape)}}, name);
}

Value bucket_source(Graph& graph, const FlatBucket& bucket, const ZeroOptions& options) {
  if (const Value known = graph.find(bucket.name)) return known;
  const std::int64_t slices = options.level == 3 ? 1 : options.share.count;
  return graph.source(bucket.name, {bucket.dtype, {slices * bucket.slice}}, Role::parameter);
}

void use_flat_buckets(Graph& graph, std::span<const FlatBucket> buckets, const ZeroOptions& options) {
  BucketUser(graph, buckets, options).run();
}

}  // namespace hocket
