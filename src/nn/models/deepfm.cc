// Guo et al. 2017: score = linear(ids) + factorisation machine(ids) + mlp(embeddings and numbers).
#include "base/error.h"
#include "nn/layers.h"
#include "nn/models/heads.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

Value table_rows(Builder& b, std::string_view name, Value ids, const SampleSpec& sample, std::int64_t width,
                 bool sparse) {
  const auto scope = b.scope(name);
  return embedding(b, ids, sample.features, width, {.sparse = sparse});
}

// ½·Σ over the width of ((Σ over fields v)² − Σ over fields v²)        v: (N, F, width) → (N, 1)
Value pairwise_interactions(Builder& b, Value v) {
  const auto scope = b.scope("fm");
  const Value sum = b.add("reduce_sum", {v}, {{"axes", IntList{1}}}, "sum");
  const Value square_of_sum = b.add("mul", {sum, sum}, {}, "square_of_sum");
  const Value squares = b.add("mul", {v, v}, {}, "squares");
  const Value sum_of_squares = b.add("reduce_sum", {squares}, {{"axes", IntList{1}}}, "sum_of_squares");
  const Value twice = b.add("sub", {square_of_sum, sum_of_squares}, {}, "twice");
  const Value total = b.add("reduce_sum", {twice}, {{"axes", IntList{1}}, {"keep", 1}}, "total");
  return b.add("scale", {total}, {{"factor", 0.5}});
}

Value deep_scores(Builder& b, Value x, const IntList& hidden) {
  int layer = 0;
  for (const std::int64_t width : hidden) {
    const auto scope = b.scope(fmt::format("fc{}", ++layer));
    x = relu(b, linear(b, x, width));
  }
  const auto scope = b.scope(fmt::format("fc{}", layer + 1));
  return linear(b, x, 1);
}

}  // namespace

void build_deepfm(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  const SampleField* category = sample.find("category");
  if (category == nullptr) throw ConfigError("model deepfm needs categorical columns; the data has none");
  if (sample.target != Target::binary)
    throw ConfigError("model deepfm needs labels of two classes; this data has others");
  const bool sparse = options.integer("sparse") != 0;
  const Value ids = b.input("category", DType::i32, category->shape);

  const Value first = table_rows(b, "first", ids, sample, 1, sparse);
  const Value rows = table_rows(b, "second", ids, sample, options.integer("width"), sparse);
  Value scores = b.add("reduce_sum", {first}, {{"axes", IntList{1}}}, "linear");
  scores = b.add("add", {scores, pairwise_interactions(b, rows)}, {}, "scores");

  Value deep = flatten(b, rows);
  if (const SampleField* numeric = sample.find("numeric"); numeric != nullptr && numeric->shape.count() > 0) {
    const Value numbers = b.input("numeric", DType::f32, numeric->shape);
    deep = b.graph().apply("concat", std::vector<Value>{deep, numbers}, {{"axis", 1}}, "deep.input").front();
  }
  score_with(b, "sigmoid_cross_entropy",
             b.add("add", {scores, deep_scores(b, deep, options.list("hidden"))}, {}, "total"));
}

}  // namespace hocket
