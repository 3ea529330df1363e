#include "nn/layers.h"

#include <cmath>

#include "base/rng.h"

namespace hocket {
namespace {

Attributes weight_init(Cut cut, Attributes init) {
  return cut == Cut::none ? init : cut_along(cut == Cut::outputs ? 0 : 1, std::move(init));
}

// Of a parameter with one element an output.
Attributes bias_init(Cut cut, Attributes init) {
  return cut == Cut::outputs ? cut_along(0, std::move(init)) : init;
}

}  // namespace

Value linear(Builder& b, Value x, std::int64_t out, const LinearOptions& o) {
  const std::int64_t in = x.shape().back();
  const Value weight = b.parameter("weight", {out, in}, weight_init(o.cut, fan_in_uniform(in)));
  if (!o.bias) return b.add("matmul", {x, weight}, {{"tb", 1}});
  const Value product = b.add("matmul", {x, weight}, {{"tb", 1}}, "product");
  return b.add("add", {product, b.parameter("bias", {out}, bias_init(o.cut, fan_in_uniform(in)))});
}

Value conv(Builder& b, Value x, std::int64_t out, const ConvOptions& o) {
  const std::int64_t in = x.dim(1) / o.groups;
  const std::int64_t fan_in = in * o.kernel * o.kernel;
  const Attributes attributes{{"stride", o.stride}, {"padding", o.padding}, {"groups", o.groups}};
  const Value weight =
      b.parameter("weight", {out, in, o.kernel, o.kernel}, weight_init(o.cut, he_normal(fan_in)));
  if (!o.bias) return b.add("conv2d", {x, weight}, attributes);
  return b.add("conv2d", {x, weight, b.parameter("bias", {out}, bias_init(o.cut, zeros()))}, attributes);
}

Value batch_norm(Builder& b, Value x, Cut cut) {
  const std::int64_t channels = x.dim(1);
  const Value stats = b.add("bn_stats", {x, b.sample_weight()}, {}, "stats");
  const Value mean = b.buffer("running_mean", {channels}, zeros());
  const Value variance = b.buffer("running_variance", {channels}, ones());
  b.apply("bn_running", {stats, mean, variance}, {{"momentum", 0.1}}, "running");
  const Value gamma = b.parameter("weight", {channels}, bias_init(cut, ones()));
  return b.add("bn_apply", {x, stats, gamma, b.parameter("bias", {channels}, bias_init(cut, zeros()))});
}

Value layer_norm(Builder& b, Value x) {
  const std::int64_t width = x.shape().back();
  const Value gamma = b.parameter("weight", {width}, ones());
  return b.add("layer_norm", {x, gamma, b.parameter("bias", {width}, zeros())});
}

Value embedding(Builder& b, Value ids, std::int64_t vocabulary, std::int64_t width,
                const EmbeddingOptions& options) {
  Attributes init = normal(0.02);
  if (options.cuts_vocabulary) init = cut_along(0, std::move(init));
  if (options.sparse) init.set("sparse", 1);
  return b.add("embedding", {b.parameter("weight", {vocabulary, width}, init), ids});
}

Value self_attention(Builder& b, Value x, std::int64_t heads, bool causal) {
  const std::int64_t width = x.shape().back();
  Value mixed;
  {
    const auto scope = b.scope("qkv");
    const Value qkv = linear(b, x, 3 * width, {.cut = Cut::outputs});
    mixed = b.add("attention", {qkv}, {{"heads", heads}, {"causal", causal ? 1 : 0}}, "mix");
  }
  const auto scope = b.scope("proj");
  return linear(b, mixed, width, {.cut = Cut::inputs});
}

Value relu(Builder& b, Value x) { return b.add("relu", {x}, {}, "relu"); }

Value max_pool(Builder& b, Value x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return b.add("max_pool", {x}, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}}, "pool");
}

Value dropout(Builder& b, Value x, double rate) {
  if (rate == 0) return x;
  // The stream tells this node's mask from every other's: a function of the value's name.
  std::uint64_t stream = 0;
  for (const char c : x.info().name) stream = mix_bits(stream ^ static_cast<unsigned char>(c));
  return b.add("dropout", {x, b.dropout_key()},
               {{"rate", rate}, {"stream", static_cast<std::int64_t>(stream >> 2)}}, "dropout");
}

Value flatten(Builder& b, Value x) {
  if (x.shape().rank() == 2) return x;
  return b.add("reshape", {x}, {{"shape", IntList{-1, x.shape().count(1, x.shape().rank())}}}, "flat");
}

}  // namespace hocket
