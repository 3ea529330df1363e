// A bucket's terms are packed into one vector, which lies where the gradients will. Backward goes on while
// payloads travel; the update phase decodes them.
#include "base/error.h"
#include "graph/operators/operands.h"
#include "graph/passes/gradient_buckets.h"
#include "graph/passes/passes.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

class BucketCompressor {
 public:
  BucketCompressor(Graph& graph, const GradientBucket& bucket, std::size_t number,
                   const Compression& compression)
      : graph_(graph),
        bucket_(bucket),
        name_(fmt::format("dp.bucket{}", number)),
        compression_(compression),
        dtype_(graph.value(reduction(0).outputs[0]).type.dtype),
        ranks_(reduction(0).attributes.integer("ranks", 1)) {
    for (const int index : bucket.reductions) {
      const Node& node = graph.nodes()[static_cast<std::size_t>(index)];
      terms_.emplace_back(graph, node.inputs[0]);
      sums_.push_back(node.outputs[0]);
      begins_.push_back(size_);
      const auto line = static_cast<std::int64_t>(kAlignment / size_of(dtype_));
      size_ += (graph.value(sums_.back()).type.shape.count() + line - 1) / line * line;
    }
  }

  BucketNodes run() {
    const std::size_t before = graph_.nodes().size();
    graph_.set_phase(phase_of(graph_, bucket_));
    const Value payloads = send();
    const auto sent = static_cast<std::ptrdiff_t>(graph_.nodes().size());
    graph_.set_phase(Phase::update);
    receive(payloads);
    graph_.set_phase(Phase::forward);

    const auto first = graph_.nodes().begin() + static_cast<std::ptrdiff_t>(before);
    BucketNodes nodes;
    nodes.start.assign(first, graph_.nodes().begin() + sent);
    nodes.finish.assign(graph_.nodes().begin() + sent, graph_.nodes().end());
    graph_.nodes().erase(first, graph_.nodes().end());
    return nodes;
  }

 private:
  const Node& reduction(std::size_t i) const {
    return graph_.nodes()[static_cast<std::size_t>(bucket_.reductions[i])];
  }

  // Of N bytes, gathering sends N(P−1) and summing 2N(P−1)/P; only bf16 can be summed as it is.
  bool sums_payloads() const { return compression_.kind == CompressionKind::bf16 && ranks_ > 2; }

  Value send() {
    const Value packed =
        graph_.apply("pack", terms_, {{"begins", begins_}, {"size", size_}}, name_ + ".terms")[0];
    const Value residual = graph_.source("residual/" + name_, packed.type(), Role::state);
    const Value payload =
        graph_.add("encode", {packed, residual},
                   {{"kind", std::string(name_of(compression_.kind))}, {"fraction", compression_.fraction}},
                   name_ + ".encode");
    return graph_.add(sums_payloads() ? "all_reduce" : "all_gather", {payload},
                      {{"axis", "dp"}, {"ranks", ranks_}}, name_);
  }

  // The gradients keep their values: those that made them by all_reduce are views now.
  void receive(Value payloads) {
    const Value vector = graph_.add("decode", {payloads},
                                    {{"kind", std::string(name_of(compression_.kind))},
                                     {"size", size_},
                                     {"dtype", std::string(name_of(dtype_))},
                                     {"ranks", sums_payloads() ? 1 : ranks_}},
                                    name_ + ".decode");
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      Node view{graph_.value(sums_[i]).name + ".view",
                find_operator("view"),
                {vector.id()},
                {sums_[i]},
                {},
                Phase::update};
      view.attributes = {{"begin", begins_[i]}, {"shape", dims_of(graph_.value(sums_[i]).type.shape)}};
      graph_.nodes().push_back(std::move(view));
    }
  }

  Graph& graph_;
  const GradientBucket& bucket_;
  std::string name_;
  const Compression& compression_;
  DType dtype_;
  std::int64_t ranks_;
  std::vector<Value> terms_;
  std::vector<ValueId> sums_;
  IntList begins_;  // In whole lines, as gradients lie.
  std::int64_t size_ = 0;
};

bool is_sum_along_dp(const Graph& graph, const GradientBucket& bucket) {
  const Node& node = graph.nodes()[static_cast<std::size_t>(bucket.reductions[0])];
  const DType dtype = graph.value(node.outputs[0]).type.dtype;
  return node.attributes.text("axis", "") == "dp" && node.attributes.text("reduction", "sum") == "sum" &&
         (dtype == DType::f32 || dtype == DType::f64);
}

}  // namespace

void compress_gradients(Graph& graph, std::span<const Gradient> gradients, std::size_t bytes,
                        const Compression& compression) {
  const std::vector<GradientBucket> buckets = find_gradient_buckets(graph, gradients, bytes);
  std::vector<BucketNodes> nodes;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (is_sum_along_dp(graph, buckets[i])) {
      nodes.push_back(BucketCompressor(graph, buckets[i], i, compression).run());
    } else {
      nodes.push_back({{joined_reduction(graph, buckets[i], i)}, {}});
    }
  }
  replace_reductions(graph, buckets, std::move(nodes));
}

}  // namespace hocket
