#include "base/error.h"
#include "nn/layers.h"
#include "nn/models/heads.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

Value conv_relu(Builder& b, std::string_view name, Value x, std::int64_t out,
                const ConvOptions& options = {}) {
  const auto scope = b.scope(name);
  return relu(b, conv(b, x, out, options));
}

Value linear_relu(Builder& b, std::string_view name, Value x, std::int64_t out) {
  const auto scope = b.scope(name);
  return relu(b, linear(b, x, out));
}

Value pool(Builder& b, std::string_view name, Value x, std::int64_t kernel, std::int64_t stride) {
  const auto scope = b.scope(name);
  return max_pool(b, x, kernel, stride);
}

void classifier(Builder& b, std::string_view name, Value x, const SampleSpec& sample) {
  Value scores;
  {
    const auto scope = b.scope(name);
    scores = linear(b, x, score_count(sample));
  }
  classify(b, scores, sample);
}

}  // namespace

void build_mlp(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = dense_input(b, "mlp", sample);
  int layer = 0;
  for (const std::int64_t width : options.list("hidden")) {
    x = linear_relu(b, fmt::format("fc{}", ++layer), x, width);
    const auto scope = b.scope(fmt::format("fc{}", layer));
    x = dropout(b, x, options.real("dropout"));
  }
  classifier(b, fmt::format("fc{}", layer + 1), x, sample);
}

void build_lenet(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = image_input(b, "lenet", sample);
  int layer = 0;
  for (const std::int64_t channels : options.list("channels")) {
    x = conv_relu(b, fmt::format("conv{}", ++layer), x, channels);
    const auto scope = b.scope(fmt::format("conv{}", layer));
    x = max_pool(b, x, 2, 2);
  }
  x = linear_relu(b, "fc1", flatten(b, x), options.integer("hidden"));
  classifier(b, "fc2", x, sample);
}

// Krizhevsky, Sutskever and Hinton 2012, in one tower. Small images get a 3×3 first convolution without
// stride.
void build_alexnet(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = image_input(b, "alexnet", sample);
  const bool large = x.dim(2) >= 64 && x.dim(3) >= 64;
  x = conv_relu(b, "conv1", x, 64, large ? ConvOptions{11, 4, 2} : ConvOptions{});
  x = pool(b, "pool1", x, 3, 2);
  x = conv_relu(b, "conv2", x, 192, {5, 1, 2});
  x = pool(b, "pool2", x, 3, 2);
  x = conv_relu(b, "conv3", x, 384);
  x = conv_relu(b, "conv4", x, 256);
  x = conv_relu(b, "conv5", x, 256);
  x = flatten(b, pool(b, "pool5", x, 3, 2));
  for (const std::string_view name : {"fc6", "fc7"}) {
    {
      const auto scope = b.scope(name);
      x = dropout(b, x, options.real("dropout"));
    }
    x = linear_relu(b, name, x, 4096);
  }
  classifier(b, "fc8", x, sample);
}

}  // namespace hocket
