#include "base/error.h"
#include "nn/layers.h"
#include "nn/models/heads.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

// What one layer cuts by its outputs the next takes by its inputs, so that ranks meet once in two layers.
class AlternatingCuts {
 public:
  Cut next() {
    last_ = last_ == Cut::outputs ? Cut::inputs : Cut::outputs;
    return last_;
  }

 private:
  Cut last_ = Cut::none;
};

Value conv_relu(Builder& b, std::string_view name, Value x, std::int64_t out, Cut cut,
                ConvOptions options = {}) {
  const auto scope = b.scope(name);
  options.cut = cut;
  return relu(b, conv(b, x, out, options));
}

Value linear_relu(Builder& b, std::string_view name, Value x, std::int64_t out, Cut cut) {
  const auto scope = b.scope(name);
  return relu(b, linear(b, x, out, {.cut = cut}));
}

Value pool(Builder& b, std::string_view name, Value x, std::int64_t kernel, std::int64_t stride) {
  const auto scope = b.scope(name);
  return max_pool(b, x, kernel, stride);
}

void classifier(Builder& b, std::string_view name, Value x, const SampleSpec& sample, Cut cut) {
  Value scores;
  {
    const auto scope = b.scope(name);
    scores = linear(b, x, score_count(sample), {.cut = cut});
  }
  classify(b, scores, sample);
}

}  // namespace

void build_mlp(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = dense_input(b, "mlp", sample);
  AlternatingCuts cuts;
  int layer = 0;
  for (const std::int64_t width : options.list("hidden")) {
    x = linear_relu(b, fmt::format("fc{}", ++layer), x, width, cuts.next());
    const auto scope = b.scope(fmt::format("fc{}", layer));
    x = dropout(b, x, options.real("dropout"));
  }
  classifier(b, fmt::format("fc{}", layer + 1), x, sample, cuts.next());
}

void build_lenet(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = image_input(b, "lenet", sample);
  AlternatingCuts cuts;
  int layer = 0;
  for (const std::int64_t channels : options.list("channels")) {
    x = conv_relu(b, fmt::format("conv{}", ++layer), x, channels, cuts.next());
    const auto scope = b.scope(fmt::format("conv{}", layer));
    x = max_pool(b, x, 2, 2);
  }
  x = linear_relu(b, "fc1", flatten(b, x), options.integer("hidden"), cuts.next());
  classifier(b, "fc2", x, sample, cuts.next());
}

// Krizhevsky, Sutskever and Hinton 2012, in one tower. Small images get a 3×3 first convolution without
// stride.
void build_alexnet(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = image_input(b, "alexnet", sample);
  AlternatingCuts cuts;
  const bool large = x.dim(2) >= 64 && x.dim(3) >= 64;
  x = conv_relu(b, "conv1", x, 64, cuts.next(), large ? ConvOptions{11, 4, 2} : ConvOptions{});
  x = pool(b, "pool1", x, 3, 2);
  x = conv_relu(b, "conv2", x, 192, cuts.next(), {5, 1, 2});
  x = pool(b, "pool2", x, 3, 2);
  x = conv_relu(b, "conv3", x, 384, cuts.next());
  x = conv_relu(b, "conv4", x, 256, cuts.next());
  x = conv_relu(b, "conv5", x, 256, cuts.next());
  x = flatten(b, pool(b, "pool5", x, 3, 2));
  for (const std::string_view name : {"fc6", "fc7"}) {
    {
      const auto scope = b.scope(name);
      x = dropout(b, x, options.real("dropout"));
    }
    x = linear_relu(b, name, x, 4096, cuts.next());
  }
  classifier(b, "fc8", x, sample, cuts.next());
}

}  // namespace hocket
