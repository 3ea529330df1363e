// Generalised linear models: one linear function of dense or sparse features and categories, and a loss.
#include "base/error.h"
#include "nn/layers.h"
#include "nn/models/heads.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

Value sparse_scores(Builder& b, const SampleSpec& sample, std::int64_t outputs, bool bias) {
  const std::int64_t capacity = b.batch() * sample.max_nonzeros;
  const Value values = b.raw_input("values", DType::f32, {capacity});
  const Value columns = b.raw_input("columns", DType::i32, {capacity});
  const Value offsets = b.raw_input("offsets", DType::i32, {b.batch() + 1});
  const Value weight = b.parameter("weight", {sample.features, outputs}, zeros());
  const Value y = b.add("csr_matmul", {values, columns, offsets, weight}, {}, "product");
  return bias ? b.add("add", {y, b.parameter("bias", {outputs}, zeros())}) : y;
}

// A row of weights for each category of a sample.
Value category_scores(Builder& b, const SampleField& category, std::int64_t features, std::int64_t outputs) {
  const Value ids = b.input("category", DType::i32, category.shape);
  const auto scope = b.scope("categories");
  const Value rows =
      b.add("embedding", {b.parameter("weight", {features, outputs}, zeros()), ids}, {}, "rows");
  return b.add("reduce_sum", {rows}, {{"axes", IntList{1}}}, "sum");
}

Value linear_scores(Builder& b, std::string_view model, const SpecOptions& options, const SampleSpec& sample,
                    std::int64_t outputs) {
  const bool bias = options.integer("bias") != 0;
  const bool sparse = sample.find("values") != nullptr;
  const Value x = sparse ? Value() : dense_input(b, model, sample);
  const SampleField* category = sample.find("category");
  const Value categories =
      category == nullptr ? Value() : category_scores(b, *category, sample.features, outputs);
  const auto scope = b.scope("linear");
  const Value y = sparse ? sparse_scores(b, sample, outputs, bias) : linear(b, x, outputs, {.bias = bias});
  return categories ? b.add("add", {y, categories}, {}, "scores") : y;
}

}  // namespace

void build_linreg(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  if (sample.target == Target::classes)
    throw ConfigError("linreg predicts a number; the data has {} classes", sample.classes);
  score_with(b, "squared_error", linear_scores(b, "linreg", options, sample, 1));
}

void build_logreg(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  if (sample.target == Target::real)
    throw ConfigError("logreg needs labels of two or more classes; the data has real ones");
  classify(b, linear_scores(b, "logreg", options, sample, score_count(sample)), sample);
}

void build_svm(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  if (sample.target != Target::binary)
    throw ConfigError("svm needs labels of two classes; this data has others");
  score_with(b, "hinge", linear_scores(b, "svm", options, sample, 1));
}

}  // namespace hocket
