#include "base/error.h"
#include "nn/layers.h"
#include "nn/models/heads.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

struct BlockOptions {
  std::int64_t heads;
  double dropout;
  bool causal;
};

// x + attention(norm(x)), then x + mlp(norm(x)): the pre-norm transformer block.
Value transformer_block(Builder& b, Value x, const BlockOptions& options) {
  const auto branch = [&](std::string_view norm, std::string_view body, auto build) {
    Value y;
    {
      const auto scope = b.scope(norm);
      y = layer_norm(b, x);
    }
    const auto scope = b.scope(body);
    x = b.add("add", {x, dropout(b, build(y), options.dropout)}, {}, "sum");
  };
  branch("ln1", "attn", [&](Value y) { return self_attention(b, y, options.heads, options.causal); });
  branch("ln2", "mlp", [&](Value y) {
    const std::int64_t width = y.shape().back();
    {
      const auto scope = b.scope("up");
      y = b.add("gelu", {linear(b, y, 4 * width, {.cut = Cut::outputs})}, {}, "gelu");
    }
    const auto scope = b.scope("down");
    return linear(b, y, width, {.cut = Cut::inputs});
  });
  return x;
}

// Scores of every symbol: by a matrix of its own, or by the embedding's when they are tied.
Value output_scores(Builder& b, Value x, Value table, bool tied, std::int64_t symbols) {
  const auto scope = b.scope("head");
  if (tied) return b.add("matmul", {x, table}, {{"tb", 1}});
  return linear(b, x, symbols, {.bias = false, .cut = Cut::outputs});
}

// An encoder sees the whole window and predicts the symbol that follows it, from the mean over positions.
void predict_next_of_window(Builder& b, Value hidden, const SampleSpec& sample, Value table, bool tied) {
  const std::int64_t context = hidden.dim(1);
  const Value pooled = b.add("reduce_mean", {hidden}, {{"axes", IntList{1}}}, "pooled");
  const Value scores = output_scores(b, pooled, table, tied, sample.classes);
  const Value labels = b.input("label", DType::i32, {context});
  const Value last =
      b.add("slice", {labels},
            {{"begin", IntList{0, context - 1}}, {"end", IntList{-1, -1}}, {"step", IntList{1, 1}}}, "next");
  b.graph().set_output("scores", scores);
  b.graph().set_output("loss", b.add("softmax_cross_entropy", {scores, last, b.sample_weight()}, {}, "loss"));
  b.graph().set_output("correct", b.add("count_correct", {scores, last, b.sample_weight()}, {}, "correct"));
}

}  // namespace

void build_gpt(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  const SampleField* tokens = sample.find("tokens");
  if (tokens == nullptr) throw ConfigError("model gpt needs text; the data has none");
  const std::int64_t context = tokens->shape[0];
  const std::int64_t width = options.integer("width");
  const std::int64_t heads = options.integer("heads");
  if (heads < 1 || width < 1 || width % heads != 0)
    throw ConfigError("gpt: heads={} does not divide width={}", heads, width);
  const bool tied = options.integer("tied") != 0;
  const bool encoder = options.integer("encoder") != 0;

  const Value ids = b.input("tokens", DType::i32, {context});
  Value x;
  {
    const auto scope = b.scope("tok");
    x = embedding(b, ids, sample.classes, width, {.cuts_vocabulary = true});
  }
  const Value table = b.graph().find("tok.weight");
  x = b.add("add", {x, b.parameter("pos.weight", {context, width}, normal(0.02))}, {}, "embedded");
  for (std::int64_t layer = 0; layer < options.integer("layers"); ++layer) {
    const auto scope = b.scope(fmt::format("blocks.{}", layer));
    x = transformer_block(b, x, {heads, options.real("dropout"), !encoder});
  }
  {
    const auto scope = b.scope("ln");
    x = layer_norm(b, x);
  }
  if (encoder) return predict_next_of_window(b, x, sample, table, tied);
  const Value rows = b.add("reshape", {x}, {{"shape", IntList{-1, width}}}, "rows");
  classify(b, output_scores(b, rows, table, tied, sample.classes), sample);
}

}  // namespace hocket
