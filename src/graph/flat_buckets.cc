#include "graph/flat_buckets.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "graph/operators/operands.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

constexpr int kNone = -1;

Attributes along_dp(const ZeroOptions& options) {
  return {{"axis", "dp"}, {"ranks", std::int64_t{options.share.count}}};
}

// What a gradient is made of: its terms, and the nodes that the slices of a bucket replace.
struct GradientSource {
  ValueId terms = kNoValue;
  int maker = kNone;         // Of the terms.
  int reduction = kNone;     // all_reduce along dp.
  int accumulation = kNone;  // accumulate, with several micro-batches.
  int update = kNone;
};

class Analysis {
 public:
  explicit Analysis(const Graph& graph) : graph_(graph), producers_(producers(graph)) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      if (node.op->name() == "square_sums") squares_ = static_cast<int>(i);
      const std::vector<int> updated = node.op->updates();
      if (node.op->name() == "accumulate")
        accumulations_[node.inputs[0]] = static_cast<int>(i);
      else if (node.phase == Phase::update && !updated.empty())
        updates_[node.inputs[0]] = static_cast<int>(i);
    }
  }

  // Nothing where the gradient is not a sum along dp.
  std::optional<GradientSource> source_of(ValueId parameter, const Gradient& gradient) const {
    if (!gradient.value || gradient.row_ids) return std::nullopt;
    GradientSource source;
    source.reduction = producers_[static_cast<std::size_t>(gradient.value.id())];
    if (source.reduction < 0 || !is_sum_along_dp(node(source.reduction))) return std::nullopt;
    source.terms = node(source.reduction).inputs[0];
    if (const auto at = accumulations_.find(source.terms); at != accumulations_.end()) {
      source.accumulation = at->second;
      source.terms = node(at->second).inputs[1];
    }
    source.maker = producers_[static_cast<std::size_t>(source.terms)];
    const auto update = updates_.find(parameter);
    if (source.maker < 0 || update == updates_.end()) return std::nullopt;
    source.update = update->second;
    return source;
  }

  int squares() const { return squares_; }  // The node that adds up squares to clip; kNone without.

  const Node& node(int index) const { return graph_.nodes()[static_cast<std::size_t>(index)]; }

 private:
  static bool is_sum_along_dp(const Node& node) {
    return node.op->name() == "all_reduce" && node.inputs.size() == 1 &&
           node.attributes.text("axis", "") == "dp";
  }

  const Graph& graph_;
  std::vector<int> producers_;
  std::unordered_map<ValueId, int> accumulations_;  // By the sum.
  std::unordered_map<ValueId, int> updates_;        // By the parameter.
  int squares_ = kNone;
};

Value view(Graph& graph, Value vector, std::int64_t begin, const Shape& shape, const std::string& name) {
  return graph.add("view", {vector}, {{"begin", begin}, {"shape", dims_of(shape)}}, name);
}

}  // namespace

std::vector<FlatBucket> make_flat_buckets(const Graph& graph, std::span<const Gradient> gradients,
                                          const ZeroOptions& options) {
  const Analysis analysis(graph);
  const std::vector<ValueId> parameters = graph.values_of(Role::parameter);
  std::vector<FlatBucket> buckets;
  std::int64_t end = 0;
  // Every block of squares is of one slice, so that slices do not change how they are added up.
  const auto line_of = [&](DType dtype) {
    return analysis.squares() != kNone ? kSquareBlock
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
    if (!analysis.source_of(parameters[i], gradients[i])) continue;
    const std::size_t bytes = static_cast<std::size_t>(end) * size_of(value.type.dtype);
    if (buckets.empty() || bytes >= options.bucket_bytes || buckets.back().dtype != value.type.dtype) {
      close();
      buckets.push_back({fmt::format("zero.{}", buckets.size()), value.type.dtype, 0, {}});
    }
    buckets.back().members.push_back({value.name, value.type, end});
    const std::int64_t line = line_of(value.type.dtype);
    end += (value.type.shape.count() + line - 1) / line * line;
  }
  close();
  return buckets;
}

namespace {

// The parameter that stands for the bucket; made where it is missing.
Value source_of(Graph& graph, const FlatBucket& bucket, const ZeroOptions& options) {
  if (const Value known = graph.find(bucket.name)) return known;
  const std::int64_t slices = options.level == 3 ? 1 : options.share.count;
  return graph.source(bucket.name, {bucket.dtype, {slices * bucket.slice}}, Role::parameter);
}

class BucketUser {
 public:
  BucketUser(Graph& graph, std::span<const FlatBucket> buckets, const ZeroOptions& options)
      : graph_(graph), buckets_(buckets), options_(options) {
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      sources_.push_back(source_of(graph, buckets[b], options));
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
    own = view(graph_, vector, member.begin, member.type.shape, member.name + ".view");
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

class UpdateSharder {
 public:
  UpdateSharder(Graph& graph, std::span<const Gradient> gradients, std::span<const FlatBucket> buckets,
                const ZeroOptions& options)
      : graph_(graph), buckets_(buckets), options_(options), results_(buckets.size()) {
    const Analysis analysis(graph);
    squares_ = analysis.squares();
    const std::vector<ValueId> parameters = graph.values_of(Role::parameter);
    std::map<std::string, std::size_t> number;
    for (std::size_t i = 0; i < parameters.size(); ++i) number[graph.value(parameters[i]).name] = i;
    std::vector<bool> is_member(parameters.size(), false);
    for (const FlatBucket& bucket : buckets) {
      std::vector<GradientSource>& sources = sources_.emplace_back();
      int last = 0;
      for (const FlatMember& member : bucket.members) {
        const std::size_t i = number.at(member.name);
        is_member[i] = true;
        sources.push_back(*analysis.source_of(parameters[i], gradients[i]));
        last = std::max(last, sources.back().maker);
      }
      last_maker_.push_back(last);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!is_member[i]) kept_.push_back(gradients[i]);
    }
    if (squares_ == kNone) return;
    for (const ValueId id : analysis.node(squares_).inputs) {
      const bool is_in_bucket =
          std::any_of(gradients.begin(), gradients.end(),
                      [&](const Gradient& gradient) { return gradient.value && gradient.value.id() == id; });
      if (!kept_.empty() || !is_in_bucket)
        throw ConfigError("clipping does not go with ZeRO where parameters are cut along another axis too");
    }
  }

  std::vector<Gradient> run() {
    std::vector<Node> old = std::exchange(graph_.nodes(), {});
    std::vector<bool> is_replaced(old.size(), false);
    for (const std::vector<GradientSource>& sources : sources_) {
      for (const GradientSource& source : sources) {
        for (const int node : {source.reduction, source.accumulation, source.update}) {
          if (node >= 0) is_replaced[static_cast<std::size_t>(node)] = true;
        }
      }
    }
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (const GradientSource& source : sources_[b])
        updates_.emplace_back(old[static_cast<std::size_t>(source.update)]);
    }
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (static_cast<int>(i) != squares_ && !is_replaced[i]) {
        if (old[i].op->name() == "clip_scale") sum_squares(old[i]);
        graph_.nodes().push_back(std::move(old[i]));
      }
      for (std::size_t b = buckets_.size(); b-- > 0;) {
        if (last_maker_[b] == static_cast<int>(i)) sum(b);
      }
    }
    for (const FlatBucket& bucket : buckets_) source_of(graph_, bucket, options_);
    // In the order in which sums arrive.
    std::size_t first_update = updates_.size();
    for (std::size_t b = buckets_.size(); b-- > 0;) {
      first_update -= buckets_[b].members.size();
      update(b, std::span(updates_).subspan(first_update, buckets_[b].members.size()));
    }
    graph_.set_phase(Phase::forward);
    std::vector<Gradient> all = kept_;
    all.insert(all.end(), results_.begin(), results_.end());
    return all;
  }

 private:
  // Gradients become one vector, and each rank gets its slice of the sum.
  void sum(std::size_t b) {
    const FlatBucket& bucket = buckets_[b];
    graph_.set_phase(Phase::backward);
    std::vector<Value> terms;
    IntList begins;
    for (std::size_t m = 0; m < bucket.members.size(); ++m) {
      terms.emplace_back(graph_, sources_[b][m].terms);
      begins.push_back(bucket.members[m].begin);
    }
    const Value packed =
        graph_.apply("pack", terms, {{"begins", begins}, {"size", options_.share.count * bucket.slice}},
                     bucket.name + ".gradient")[0];
    Attributes attributes = along_dp(options_);
    attributes.set("index", std::int64_t{options_.share.index});
    Value slice = graph_.add("reduce_scatter", {packed}, attributes, bucket.name + ".gradient.slice");
    const bool accumulates = sources_[b][0].accumulation >= 0;
    if (accumulates) {
      const Value total = graph_.source(bucket.name + ".gradient.total", slice.type(), Role::gradient);
      graph_.apply("accumulate", std::vector<Value>{total, slice}, {}, bucket.name + ".accumulate");
      slice = total;
    }
    slices_[b] = slice;
    graph_.value(slice.id()).role = Role::gradient;  // All ranks take part, even one that has nothing in it.
    results_[b].value = options_.level == 1 && !accumulates ? packed : slice;
    graph_.value(results_[b].value.id()).role = Role::gradient;
  }

  // Each rank adds up the blocks of its slices; all of them, in the order of the parameters, make the norm.
  void sum_squares(Node& clip) {
    graph_.set_phase(Phase::update);
    clip.inputs.clear();
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const FlatBucket& bucket = buckets_[b];
      std::vector<Value> parts;
      IntList begins;
      for (const FlatMember& member : bucket.members) {
        const auto [begin, end] = own_part(bucket, member);
        if (begin >= end) continue;
        parts.push_back(view(graph_, slices_.at(b), begin, {end - begin}, member.name + ".squared"));
        begins.push_back(begin / kSquareBlock);
      }
      const Value own =
          graph_.apply("square_sums", parts, {{"begins", begins}, {"size", bucket.slice / kSquareBlock}},
                       bucket.name + ".squares")[0];
      clip.inputs.push_back(
          graph_.add("all_gather", {own}, along_dp(options_), bucket.name + ".squares.all").id());
    }
  }

  // Of a member, in this rank's slice: elements of the slice.
  std::pair<std::int64_t, std::int64_t> own_part(const FlatBucket& bucket, const FlatMember& member) const {
    const std::int64_t first = options_.share.index * bucket.slice;
    return {std::max(first, member.begin) - first,
            std::min(first + bucket.slice, member.begin + member.type.shape.count()) - first};
  }

  // One node for each member that reaches into this rank's slice.
  void update(std::size_t b, std::span<const Node> updates) {
    const FlatBucket& bucket = buckets_[b];
    const std::int64_t first = options_.share.index * bucket.slice;
    graph_.set_phase(Phase::update);
    const Value parameters = source_of(graph_, bucket, options_);
    std::map<std::size_t, Value> state;  // By operand.
    for (std::size_t m = 0; m < updates.size(); ++m) {
      const FlatMember& member = bucket.members[m];
      const auto [begin, until] = own_part(bucket, member);
      std::vector<Value> operands;
      for (std::size_t i = 0; i < updates[m].inputs.size(); ++i) {
        const Value operand(graph_, updates[m].inputs[i]);
        if (operand.info().role == Role::state && !state.contains(i))
          state[i] = flat_state(bucket, member, operand);
        if (operand.info().role == Role::state) graph_.value(operand.id()).role = Role::activation;
        if (begin >= until) continue;
        const Shape shape{until - begin};
        const std::string name = fmt::format("{}.part{}", member.name, i);
        if (i == 0) {
          operands.push_back(
              view(graph_, parameters, begin + (options_.level == 3 ? 0 : first), shape, name));
        } else if (i == 1) {
          operands.push_back(view(graph_, slices_.at(b), begin, shape, name));
        } else {
          operands.push_back(state.contains(i) ? view(graph_, state[i], begin, shape, name) : operand);
        }
      }
      if (begin < until)
        graph_.apply(updates[m].op->name(), operands, updates[m].attributes, updates[m].name);
    }
    if (options_.level < 3)
      graph_.apply("gather_blocks", std::vector<Value>{parameters}, along_dp(options_),
                   bucket.name + ".gather");
  }

  // "velocity/NAME" of a member becomes "velocity/BUCKET".
  Value flat_state(const FlatBucket& bucket, const FlatMember& member, Value operand) {
    const std::string& name = operand.info().name;
    const std::string slot = name.substr(0, name.size() - member.name.size());
    return graph_.source(slot + bucket.name, {bucket.dtype, {bucket.slice}}, Role::state);
  }

  Graph& graph_;
  std::span<const FlatBucket> buckets_;
  const ZeroOptions& options_;
  std::vector<std::vector<GradientSource>> sources_;  // By bucket and member.
  std::vector<int> last_maker_;                       // By bucket.
  int squares_ = kNone;                               // The node that added up squares.
  std::vector<Node> updates_;                         // Of all members.
  std::map<std::size_t, Value> slices_;               // Of the summed gradient, by bucket.
  std::vector<Gradient> kept_;                        // Of parameters in no bucket.
  std::vector<Gradient> results_;
};

}  // namespace

void use_flat_buckets(Graph& graph, std::span<const FlatBucket> buckets, const ZeroOptions& options) {
  BucketUser(graph, buckets, options).run();
}

std::vector<Gradient> shard_step(Graph& graph, std::span<const Gradient> gradients,
                                 std::span<const FlatBucket> buckets, const ZeroOptions& options) {
  std::vector<Gradient> result = UpdateSharder(graph, gradients, buckets, options).run();
  use_flat_buckets(graph, buckets, options);
  return result;
}

}  // namespace hocket
