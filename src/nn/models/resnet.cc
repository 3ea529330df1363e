// He, Zhang, Ren and Sun 2015. CIFAR depths are 6n+2 with shortcuts that need no parameters (every second
// pixel, new channels zero); ImageNet depths use projections where the shape changes. Of each block the first
// convolution is cut by outputs and the second by inputs, so that ranks meet once.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "nn/layers.h"
#include "nn/models/heads.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

Value conv_norm(Builder& b, std::string_view conv_name, std::string_view norm_name, Value x, std::int64_t out,
                std::int64_t kernel, std::int64_t stride, Cut cut = Cut::none) {
  Value y;
  {
    const auto scope = b.scope(conv_name);
    y = conv(b, x, out, {kernel, stride, kernel / 2, 1, false, cut});
  }
  const auto scope = b.scope(norm_name);
  return batch_norm(b, y, cut);
}

Value padded_shortcut(Builder& b, Value x, std::int64_t out, std::int64_t stride) {
  if (stride > 1) {
    x = b.add("slice", {x},
              {{"begin", IntList{0, 0, 0, 0}},
               {"end", IntList{-1, -1, -1, -1}},
               {"step", IntList{1, 1, stride, stride}}},
              "subsample");
  }
  const std::int64_t missing = out - x.dim(1);
  if (missing == 0) return x;
  const std::int64_t before = missing / 2;
  return b.add("pad", {x},
               {{"before", IntList{0, before, 0, 0}}, {"after", IntList{0, missing - before, 0, 0}}},
               "widen");
}

Value basic_block(Builder& b, Value x, std::int64_t out, std::int64_t stride, bool project) {
  Value y = conv_norm(b, "conv1", "bn1", x, out, 3, stride, Cut::outputs);
  y = b.add("relu", {y}, {}, "relu1");
  y = conv_norm(b, "conv2", "bn2", y, out, 3, 1, Cut::inputs);
  const bool same = stride == 1 && x.dim(1) == out;
  Value shortcut = x;
  if (!same)
    shortcut = project ? conv_norm(b, "down.conv", "down.bn", x, out, 1, stride)
                       : padded_shortcut(b, x, out, stride);
  return b.add("relu", {b.add("add", {y, shortcut}, {}, "sum")}, {}, "relu2");
}

Value bottleneck(Builder& b, Value x, std::int64_t width, std::int64_t stride) {
  const std::int64_t out = 4 * width;
  Value y = b.add("relu", {conv_norm(b, "conv1", "bn1", x, width, 1, 1, Cut::outputs)}, {}, "relu1");
  y = b.add("relu", {conv_norm(b, "conv2", "bn2", y, width, 3, stride, Cut::inputs)}, {}, "relu2");
  y = conv_norm(b, "conv3", "bn3", y, out, 1, 1);
  const bool same = stride == 1 && x.dim(1) == out;
  const Value shortcut = same ? x : conv_norm(b, "down.conv", "down.bn", x, out, 1, stride);
  return b.add("relu", {b.add("add", {y, shortcut}, {}, "sum")}, {}, "relu3");
}

struct ImageNetDepth {
  std::int64_t depth;
  std::array<int, 4> blocks;
  bool bottleneck;
};
constexpr std::array<ImageNetDepth, 5> kImageNet{{{18, {2, 2, 2, 2}, false},
                                                  {34, {3, 4, 6, 3}, false},
                                                  {50, {3, 4, 6, 3}, true},
                                                  {101, {3, 4, 23, 3}, true},
                                                  {152, {3, 8, 36, 3}, true}}};

Value imagenet_body(Builder& b, Value x, const ImageNetDepth& depth) {
  x = b.add("relu", {conv_norm(b, "conv1", "bn1", x, 64, 7, 2)}, {}, "relu1");
  x = b.add("max_pool", {x}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}}, "pool1");
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < depth.blocks[static_cast<std::size_t>(stage)]; ++block) {
      const auto scope = b.scope(fmt::format("stage{}.{}", stage + 1, block));
      const std::int64_t width = std::int64_t{64} << stage;
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = depth.bottleneck ? bottleneck(b, x, width, stride) : basic_block(b, x, width, stride, true);
    }
  }
  return x;
}

Value cifar_body(Builder& b, Value x, std::int64_t blocks) {
  x = b.add("relu", {conv_norm(b, "conv1", "bn1", x, 16, 3, 1)}, {}, "relu1");
  for (int stage = 0; stage < 3; ++stage) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const auto scope = b.scope(fmt::format("stage{}.{}", stage + 1, block));
      x = basic_block(b, x, std::int64_t{16} << stage, stage > 0 && block == 0 ? 2 : 1, false);
    }
  }
  return x;
}

}  // namespace

void build_resnet(Builder& b, const SpecOptions& options, const SampleSpec& sample) {
  Value x = image_input(b, "resnet", sample);
  const std::int64_t depth = options.integer("depth");
  const auto* at = std::find_if(kImageNet.begin(), kImageNet.end(),
                                [&](const auto& entry) { return entry.depth == depth; });
  if (at != kImageNet.end()) {
    x = imagenet_body(b, x, *at);
  } else if (depth >= 8 && depth <= 1202 && depth % 6 == 2) {
    x = cifar_body(b, x, (depth - 2) / 6);
  } else {
    throw ConfigError(
        "resnet: depth {} is not 18, 34, 50, 101, 152 (ImageNet) nor 6n+2 such as 20, 32, 56 (CIFAR)", depth);
  }
  x = b.add("global_avg_pool", {x}, {}, "pool");
  Value scores;
  {
    const auto scope = b.scope("fc");
    scores = linear(b, x, score_count(sample));
  }
  classify(b, scores, sample);
}

}  // namespace hocket
