#include "nn/models/heads.h"

#include "base/error.h"
#include "nn/layers.h"

namespace hocket {

Value image_input(Builder& b, std::string_view model, const SampleSpec& sample) {
  const SampleField* image = sample.find("image");
  if (image == nullptr) throw ConfigError("model {} needs images; the data has none", model);
  return b.input("image", image->dtype, image->shape);
}

Value dense_input(Builder& b, std::string_view model, const SampleSpec& sample) {
  for (const std::string_view name : {"image", "features", "numeric"}) {
    if (const SampleField* field = sample.find(name))
      return flatten(b, b.input(name, field->dtype, field->shape));
  }
  throw ConfigError("model {} needs images or dense features; the data has neither", model);
}

std::int64_t score_count(const SampleSpec& sample) {
  return sample.target == Target::classes ? sample.classes : 1;
}

void score_with(Builder& b, std::string_view loss, Value scores) {
  const Value label = b.input("label", DType::f32, {});
  b.graph().set_output("scores", scores);
  b.graph().set_output("loss", b.add(loss, {scores, label, b.sample_weight()}, {}, "loss"));
  if (loss != "squared_error") {
    b.graph().set_output("correct",
                         b.add("count_correct", {scores, label, b.sample_weight()}, {}, "correct"));
  }
}

void classify(Builder& b, Value scores, const SampleSpec& sample) {
  if (sample.target == Target::binary) return score_with(b, "sigmoid_cross_entropy", scores);
  if (sample.target == Target::real) return score_with(b, "squared_error", scores);
  const SampleField* field = sample.find("label");
  const Value label = b.input("label", DType::i32, field == nullptr ? Shape() : field->shape);
  b.graph().set_output("scores", scores);
  b.graph().set_output("loss",
                       b.add("softmax_cross_entropy", {scores, label, b.sample_weight()}, {}, "loss"));
  b.graph().set_output("correct", b.add("count_correct", {scores, label, b.sample_weight()}, {}, "correct"));
}

}  // namespace hocket
