#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/spec.h"
#include "graph/graph.h"

namespace hocket {

// What a model is asked to predict.
enum class Target : std::uint8_t { classes, next_token, binary, real };

// One tensor of a sample, as data sets name it: "image", "tokens", "features", "label", ….
struct SampleField {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // Of one sample.
};

// What a model needs to know of the data it is built for.
struct SampleSpec {
  std::vector<SampleField> fields;
  Target target = Target::classes;
  std::int64_t classes = 0;       // Or the number of symbols of a text.
  std::int64_t features = 0;      // Columns of sparse rows; distinct ids of categorical columns.
  std::int64_t max_nonzeros = 0;  // Of one sparse row.

  const SampleField* find(std::string_view name) const;
};

// A model's name and sizes as the user gives them: "resnet,depth=20", "resnet20", "file:MODEL". Throws
// ConfigError.
Spec parse_model(std::string_view text);

struct ModelInfo {
  std::string name;
  std::string summary;
  SpecOptions::Defaults defaults;
};

// Every built-in model, in the order to show them.
std::vector<ModelInfo> built_in_models();

// The forward graph of a model for batches of at most `batch` samples. Its outputs: "loss"; "scores", what it
// predicts; "correct", the number of right predictions, where that means something. `real` is f32, or f64 for
// the oracle. Throws ConfigError when the model is unknown or does not fit the data; a model file is read by
// parse_text.
std::unique_ptr<Graph> build_model(const Spec& spec, const SampleSpec& sample, std::int64_t batch,
                                   DType real = DType::f32);

// What `hocket models` shows of a built model.
struct ModelSize {
  std::int64_t parameters = 0;
  double forward_flops = 0;  // Of the whole batch; a multiply-add is two.
};
ModelSize size_of_model(const Graph& graph);

}  // namespace hocket
