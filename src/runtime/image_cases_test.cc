#include "runtime/operator_cases.h"

namespace hocket {
namespace {

using Values = std::vector<Value>;

struct Convolution {
  std::string name;
  std::int64_t stride, padding, groups, kh, kw;
  bool has_bias, has_relu;
  std::int64_t pool = 1;
};

Values convolve(Scene& s, const Convolution& c) {
  const std::int64_t in = c.groups * s.dim(2, 16), out = c.groups * s.dim(1, 16);
  const std::int64_t height = c.pool > 1 ? s.dim(4, 16) : s.dim(5, 14);
  const Value x = s.parameter({s.dim(2, 3), in, height, s.dim(4, c.pool > 1 ? 12 : 13)});
  const Value w = s.parameter({out, in / c.groups, c.kh, c.kw});
  Attributes attributes{{"stride", c.stride}, {"padding", c.padding}, {"groups", c.groups}};
  if (c.has_relu) attributes.set("act", std::string("relu"));
  if (c.pool > 1) attributes.set("pool", c.pool);
  if (c.has_bias) return {s.apply("conv2d", {x, w, s.parameter({out})}, attributes)[0]};
  return {s.apply("conv2d", {x, w}, attributes)[0]};
}

void add_conv_cases(std::vector<OperatorCase>& cases) {
  for (const Convolution& c :
       {Convolution{"plain", 1, 0, 1, 3, 3, false, false},
        Convolution{"same_bias", 1, 1, 1, 3, 3, true, false},
        Convolution{"stride", 2, 1, 1, 3, 3, false, false},
        Convolution{"stride_leaves_rest", 3, 0, 1, 2, 2, true, false},
        Convolution{"pointwise", 1, 0, 1, 1, 1, true, true},
        Convolution{"pointwise_stride", 2, 0, 1, 1, 1, false, false},
        Convolution{"oblong", 1, 1, 1, 3, 2, true, false}, Convolution{"groups", 1, 1, 2, 3, 3, true, true},
        Convolution{"groups_stride", 2, 2, 2, 3, 3, false, false},
        Convolution{"pool", 1, 1, 1, 3, 3, false, false, 2},
        Convolution{"pool_bias_relu", 1, 1, 1, 3, 3, true, true, 4},
        Convolution{"pool_groups", 1, 1, 2, 3, 3, true, false, 2}}) {
    cases.push_back({"conv2d_" + c.name, [c](Scene& s) { return convolve(s, c); }});
  }
}

OperatorCase pool_case(const std::string& op, std::int64_t kernel, std::int64_t stride,
                       std::int64_t padding) {
  const std::string name =
      op + "_" + std::to_string(kernel) + std::to_string(stride) + std::to_string(padding);
  return {name, [=](Scene& s) -> Values {
            const Value x = s.parameter({2, s.dim(2, 19), s.dim(5, 13), s.dim(6, 14)});
            return {s.apply(op, {x}, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}})[0]};
          }};
}

void add_pool_cases(std::vector<OperatorCase>& cases) {
  for (const std::string op : {"max_pool", "avg_pool"}) {
    cases.push_back(pool_case(op, 2, 2, 0));
    cases.push_back(pool_case(op, 3, 2, 1));
    cases.push_back(pool_case(op, 3, 1, 0));
    cases.push_back(pool_case(op, 2, 3, 1));
  }
  cases.push_back({"global_avg_pool", [](Scene& s) -> Values {
                     return {s.add("global_avg_pool", {s.parameter({2, s.dim(3, 19), s.dim(4, 7), 3})})};
                   }});
}

Values image_batch_norm(Scene& s, const Shape& shape, const std::string& activation) {
  const Value x = s.parameter(shape, -1, 3);
  const Value stats = s.add("bn_stats", {x, s.weights(shape[0])});
  return {s.add("bn_apply", {x, stats, s.parameter({shape[1]}, 0.5, 2), s.parameter({shape[1]})},
                {{"eps", 1e-3}, {"act", activation}})};
}

// Twice, so that in backward a sum reaches the relu.
Values residual_norm(Scene& s, const Shape& shape) {
  const Value x = s.parameter(shape, -1, 3);
  const Value gamma = s.parameter({shape[1]}, 0.5, 2), beta = s.parameter({shape[1]});
  Value y = x;
  for (int layer = 0; layer < 2; ++layer) {
    const Value stats = s.add("bn_stats", {y, s.weights(shape[0])});
    y = s.add("relu", {s.add("add", {s.add("bn_apply", {y, stats, gamma, beta}, {{"eps", 1e-3}}), y})});
  }
  return {y};
}

Values bn_inference(Scene& s, const Shape& shape) {
  const Shape channels{shape[1]};
  return {s.add("bn_inference", {s.parameter(shape), s.constant(channels), s.constant(channels, 0.5, 2),
                                 s.parameter(channels), s.parameter(channels)})};
}

void add_norm_cases(std::vector<OperatorCase>& cases) {
  cases.push_back({"bn_image", [](Scene& s) {
                     return image_batch_norm(s, {4, s.dim(2, 19), s.dim(2, 7), 3}, "none");
                   }});
  cases.push_back({"bn_image_relu", [](Scene& s) {
                     return image_batch_norm(s, {4, s.dim(2, 16), s.dim(2, 8), 2}, "relu");
                   }});
  cases.push_back({"bn_image_residual", [](Scene& s) {
                     return residual_norm(s, {4, s.dim(2, 16), s.dim(2, 8), 2});
                   }});
  cases.push_back({"bn_apply_residual", [](Scene& s) -> Values {
                     const Shape shape{4, s.dim(2, 17), 3, 2};
                     const Value x = s.parameter(shape, -1, 3);
                     const Value stats = s.add("bn_stats", {x, s.weights(shape[0])});
                     return {s.add("bn_apply",
                                   {x, stats, s.parameter({shape[1]}, 0.5, 2), s.parameter({shape[1]}),
                                    s.parameter(shape)},
                                   {{"act", "relu"}})};
                   }});
  cases.push_back({"bn_inference_residual", [](Scene& s) -> Values {
                     const Shape shape{3, s.dim(2, 17), 2, 2}, channels{shape[1]};
                     return {s.add("bn_inference",
                                   {s.parameter(shape), s.constant(channels), s.constant(channels, 0.5, 2),
                                    s.parameter(channels), s.parameter(channels), s.parameter(shape)},
                                   {{"act", "relu"}})};
                   }});
  cases.push_back({"bn_inference", [](Scene& s) {
                     return bn_inference(s, {3, s.dim(2, 19), 2, s.dim(2, 5)});
                   }});
}

// An image that the layout pass stores channels_last: pooling over single elements changes nothing else.
Value pooled(Scene& s, const Shape& shape) {
  return s.add("avg_pool", {s.parameter(shape)}, {{"kernel", std::int64_t{1}}});
}

OperatorCase follower(const std::string& name, const std::string& op, Attributes attributes) {
  return {"image_" + name, [=](Scene& s) -> Values {
            return {s.add(op, {pooled(s, {2, 3, 4, 6})}, attributes)};
          }};
}

OperatorCase broadcast_case(const std::string& name, const std::string& op, const Shape& other) {
  return {"image_" + op + "_" + name, [=](Scene& s) -> Values {
            return {s.add(op, {pooled(s, {2, 3, 4, 6}), s.parameter(other, 0.5, 2)})};
          }};
}

void add_layout_cases(std::vector<OperatorCase>& cases) {
  cases.push_back(broadcast_case("same", "add", {2, 3, 4, 6}));
  cases.push_back(broadcast_case("channels", "mul", {3, 1, 1}));
  cases.push_back(broadcast_case("columns", "sub", {6}));
  cases.push_back(broadcast_case("rows", "div", {2, 1, 4, 1}));
  cases.push_back(broadcast_case("scalar", "add", {}));
  cases.push_back(broadcast_case("positions", "mul", {3, 4, 6}));
  cases.push_back(broadcast_case("some_positions", "sub", {3, 1, 6}));
  cases.push_back({"image_div_of_positions", [](Scene& s) -> Values {
                     const Value x = s.add("exp", {pooled(s, {2, 3, 4, 6})});
                     return {s.add("div", {s.parameter({3, 4, 6}), x})};
                   }});
  cases.push_back(follower("gelu", "gelu", {}));
  cases.push_back(
      follower("slice", "slice", {{"begin", IntList{0, 1, 0, 1}}, {"step", IntList{1, 1, 2, 2}}}));
  cases.push_back(
      follower("unslice", "unslice", {{"shape", IntList{3, 4, 8, 6}}, {"step", IntList{1, 1, 2, 1}}}));
  cases.push_back(follower("pad", "pad", {{"before", IntList{0, 2, 1, 0}}, {"after", IntList{0, 1, 0, 3}}}));
  cases.push_back(follower("reshape", "reshape", {{"shape", IntList{2, -1}}}));
  cases.push_back(follower("transpose", "transpose", {{"perm", IntList{0, 2, 3, 1}}}));
  cases.push_back({"image_concat", [](Scene& s) -> Values {
                     return {s.add("concat", {pooled(s, {2, 3, 4, 6}), pooled(s, {2, 1, 4, 6})},
                                   {{"axis", std::int64_t{1}}})};
                   }});
}

}  // namespace

std::vector<OperatorCase> image_cases() {
  std::vector<OperatorCase> cases;
  add_conv_cases(cases);
  add_pool_cases(cases);
  add_norm_cases(cases);
  add_layout_cases(cases);
  return cases;
}

}  // namespace hocket
