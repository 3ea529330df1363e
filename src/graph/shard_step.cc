// ZeRO (Rajbhandari 2020): gradients are summed into slices of buckets, each rank updates its own slice.

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/flat_buckets.h"
#include "graph/gradient_sources.h"
#include "graph/operators/operands.h"

namespace hocket {
namespace {

constexpr int kNone = GradientSource::kNone;

class UpdateSharder {
 public:
  UpdateSharder(Graph& graph, std::span<const Gradient> gradients, std::span<const FlatBucket> buckets,
                const ZeroOptions& options)
      : graph_(graph), buckets_(buckets), options_(options), results_(buckets.size()) {
    const GradientSources analysis(graph);
    squares_ = analysis.squares();
    stages_sum_ = analysis.stages_sum();
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
    find_blocks(analysis.node(squares_), gradients, number);
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
      const int chunk = old[i].stage;
      if (static_cast<int>(i) == stages_sum_) stages_attributes_ = old[i].attributes;
      if (static_cast<int>(i) != squares_ && static_cast<int>(i) != stages_sum_ && !is_replaced[i]) {
        if (old[i].op->name() == "clip_scale") sum_squares(old[i]);
        graph_.nodes().push_back(std::move(old[i]));
      }
      for (std::size_t b = buckets_.size(); b-- > 0;) {
        if (last_maker_[b] != static_cast<int>(i)) continue;
        graph_.set_stage(chunk);
        sum(b);
        graph_.set_stage(0);
      }
    }
    for (const FlatBucket& bucket : buckets_) bucket_source(graph_, bucket, options_);
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

  // By parameter, where the blocks of its squares begin among those of all stages.
  void find_blocks(const Node& squares, std::span<const Gradient> gradients,
                   const std::map<std::string, std::size_t>& number) {
    const IntList begins = squares.attributes.list("begins");
    blocks_ = squares.attributes.integer("size", 0);
    for (const auto& [name, i] : number) {
      for (std::size_t input = 0; input < squares.inputs.size(); ++input) {
        if (gradients[i].value && gradients[i].value.id() == squares.inputs[input])
          block_of_[name] = begins[input];
      }
    }
  }

  // Each rank adds up the blocks of its slices; all of them, in the order of the parameters, make the norm.
  void sum_squares(Node& clip) {
    graph_.set_phase(Phase::update);
    std::vector<Value> all;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const FlatBucket& bucket = buckets_[b];
      std::vector<Value> parts;
      IntList begins;
      for (const FlatMember& member : bucket.members) {
        const auto [begin, end] = own_part(bucket, member);
        if (begin >= end) continue;
        parts.push_back(
            view_of_vector(graph_, slices_.at(b), begin, {end - begin}, member.name + ".squared"));
        begins.push_back(begin / kSquareBlock);
      }
      const Value own =
          graph_.apply("square_sums", parts, {{"begins", begins}, {"size", bucket.slice / kSquareBlock}},
                       bucket.name + ".squares")[0];
      all.push_back(graph_.add("all_gather", {own}, along_dp(options_), bucket.name + ".squares.all"));
    }
    if (stages_sum_ != kNone) all = {sum_over_stages(all)};
    clip.inputs.clear();
    for (const Value& value : all) clip.inputs.push_back(value.id());
  }

  // The blocks of this stage where they are among those of all; the others' are zero here.
  Value sum_over_stages(const std::vector<Value>& buckets) {
    std::map<std::int64_t, Value> parts;  // By their place.
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      for (const FlatMember& member : buckets_[b].members) {
        const std::int64_t blocks = (member.type.shape.count() + kSquareBlock - 1) / kSquareBlock;
        parts[block_of_.at(member.name)] = view_of_vector(graph_, buckets[b], member.begin / kSquareBlock,
                                                          {blocks}, member.name + ".squares");
      }
    }
    std::vector<Value> terms;
    IntList begins;
    for (const auto& [begin, part] : parts) {
      terms.push_back(part);
      begins.push_back(begin);
    }
    const Value own = graph_.apply("pack", terms, {{"begins", begins}, {"size", blocks_}}, "squares.own")[0];
    return graph_.add("all_reduce", {own}, stages_attributes_, "squares");
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
    const Value parameters = bucket_source(graph_, bucket, options_);
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
              view_of_vector(graph_, parameters, begin + (options_.level == 3 ? 0 : first), shape, name));
        } else if (i == 1) {
          operands.push_back(view_of_vector(graph_, slices_.at(b), begin, shape, name));
        } else {
          operands.push_back(state.contains(i) ? view_of_vector(graph_, state[i], begin, shape, name)
                                               : operand);
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
  int squares_ = kNone;                               // The node that added up squares,
  int stages_sum_ = kNone;                            // and that which added up those of all stages, with
  Attributes stages_attributes_;                      // these.
  std::int64_t blocks_ = 0;                           // Of squares, of all stages.
  std::map<std::string, std::int64_t> block_of_;      // The first of a parameter.
  std::vector<Node> updates_;                         // Of all members.
  std::map<std::size_t, Value> slices_;               // Of the summed gradient, by bucket.
  std::vector<Gradient> kept_;                        // Of parameters in no bucket.
  std::vector<Gradient> results_;
};

}  // namespace

std::vector<Gradient> shard_step(Graph& graph, std::span<const Gradient> gradients,
                                 std::span<const FlatBucket> buckets, const ZeroOptions& options) {
  std::vector<Gradient> result = UpdateSharder(graph, gradients, buckets, options).run();
  use_flat_buckets(graph, buckets, options);
  return result;
}

}  // namespace hocket
