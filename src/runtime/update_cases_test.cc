#include <algorithm>

#include "runtime/operator_cases.h"

namespace hocket {
namespace {

using Values = std::vector<Value>;

// w, g or (rows, row_ids), hyper, state…, [scale]. The state of adagrad and the second of adam are not
// negative.
Values update(Scene& s, const std::string& rule, int slots, bool has_rows, bool has_scale) {
  const Shape shape{s.dim(3, 70), s.dim(4, 33)};
  Values operands{s.parameter(shape)};
  if (has_rows) {
    operands.push_back(s.constant({4, shape[1]}));
    const auto last = static_cast<std::int32_t>(shape[0] - 1);
    operands.push_back(s.bind("row_ids", Tensor::of<std::int32_t>({4}, {0, last, last + 1, -1})));
  } else {
    operands.push_back(s.constant(shape));
  }
  operands.push_back(s.bind("hyper", Tensor::of<double>({4}, {0.1, 0.19, 0.002, 2})));
  for (int i = 0; i < slots; ++i) operands.push_back(s.constant(shape, 0.01, 1));
  if (has_scale) operands.push_back(s.bind("scale", Tensor::of<float>({}, {0.75F})));
  s.graph().set_phase(Phase::update);
  s.graph().apply(has_rows ? rule + "_rows" : rule, operands, {{"decay", 0.01}});
  return {};
}

// Twelve rows of zero to four entries, of a column outside w too.
Values csr_update(Scene& s, const std::string& op, bool has_state) {
  const Shape shape{s.dim(5, 70), s.dim(1, 3)};
  std::vector<std::int32_t> offsets{0}, columns;
  for (int i = 0; i < 12; ++i) offsets.push_back(offsets.back() + i % 5);
  for (int i = 0; i < 30; ++i) columns.push_back(static_cast<std::int32_t>(i * 7 % (shape[0] + 1)));
  Values operands{s.parameter(shape),
                  s.constant({12, shape[1]}),
                  s.constant({30}),
                  s.bind("columns", Tensor::of<std::int32_t>({30}, columns)),
                  s.bind("offsets", Tensor::of<std::int32_t>({13}, offsets)),
                  s.bind("hyper", Tensor::of<double>({4}, {0.1, 0.19, 0.002, 2}))};
  if (has_state) operands.push_back(s.constant(shape, 0.01, 1));
  s.graph().set_phase(Phase::update);
  s.graph().apply(op, operands, {});
  return {};
}

void add_rules(std::vector<OperatorCase>& cases) {
  const std::pair<std::string, int> rules[] = {{"sgd", 0},     {"momentum", 1}, {"nesterov", 1},
                                               {"adagrad", 1}, {"adam", 2},     {"adamw", 2}};
  for (const auto& [rule, slots] : rules) {
    for (const bool has_rows : {false, true}) {
      for (const bool has_scale : {false, true}) {
        const std::string name = rule + (has_rows ? "_rows" : "") + (has_scale ? "_scaled" : "");
        cases.push_back(
            {name, [=, r = rule, n = slots](Scene& s) { return update(s, r, n, has_rows, has_scale); }});
      }
    }
  }
}

OperatorCase clip_case(const std::string& name, double max) {
  return {"clip_scale_" + name, [=](Scene& s) {
            const Value sums =
                s.add("square_sums", {s.constant({s.dim(5, 3000)}), s.constant({2, 3}), s.constant({1024})},
                      {{"begins", IntList{0, 3, 4}}, {"size", 6}});
            return s.apply("clip_scale", {sums}, {{"max", max}});
          }};
}

Values bn_dx(Scene& s, const Shape& shape) {
  const Value x = s.constant(shape);
  const Value weight = s.weights(shape[0]);
  const Value sums = s.add("bn_stats", {x, weight});
  const Value dstats = s.apply("bn_apply_grad", {s.constant(shape), x, sums, s.constant({shape[1]})})[2];
  return {s.add("bn_dx", {s.constant(shape), x, sums, s.constant({shape[1]}), dstats, weight})};
}

// With a relu folded in.
Values masked_bn_dx(Scene& s, const Shape& shape) {
  const Value x = s.constant(shape), dy = s.constant(shape), weight = s.weights(shape[0]);
  const Value gamma = s.constant({shape[1]}), beta = s.constant({shape[1]});
  const Value stats = s.add("bn_stats", {x, weight});
  const std::vector<Value> sums = s.apply("bn_apply_grad", {dy, x, stats, gamma, beta});
  return {sums[0], sums[1], s.add("bn_dx", {dy, x, stats, gamma, sums[2], weight, beta})};
}

Values bn_running(Scene& s) {
  const std::int64_t c = s.dim(3, 19);
  const Value stats = s.add("bn_stats", {s.constant({4, c, 3, 2}), s.weights(4)});
  return s.apply("bn_running", {stats, s.constant({c}), s.constant({c}, 0.5, 2)}, {{"momentum", 0.3}});
}

// Two rows a sample, and a label that is no class.
Values split_cross_entropy(Scene& s) {
  const std::int64_t n = s.dim(3, 21), classes = s.dim(4, 65);
  const Value x = s.constant({2 * n, classes}, -3, 3), label = s.labels({n, 2}, classes);
  s.sources().at(label.id()).values<std::int32_t>()[2] = -1;
  const Value highest = s.add("reduce_max", {x}, {{"axes", IntList{1}}, {"keep", std::int64_t{1}}});
  const Values exps = s.apply("exp_sum", {x, highest});
  const Value picked = s.add("pick", {x, label});
  return {exps[0], s.add("split_cross_entropy", {highest, exps[1], picked, label, s.weights(n)},
                         {{"classes", classes}})};
}

Values count_correct(Scene& s, bool has_columns) {
  const std::int64_t n = s.dim(4, 50), classes = has_columns ? 5 : 1;
  const Value label = has_columns ? s.labels({n, 2}, classes) : s.targets({2 * n, 1});
  return {s.add("count_correct", {s.constant({2 * n, classes}), label, s.weights(n)})};
}

// What two ranks send, and its sum.
Values compress(Scene& s, const std::string& kind, double fraction) {
  const Shape shape{s.dim(5, 40'000)};
  const Value payload = s.add("encode", {s.constant(shape), s.constant(shape, -0.01, 0.01)},
                              {{"kind", kind}, {"fraction", fraction}});
  const Value both = s.add("concat", {payload, payload}, {{"axis", std::int64_t{0}}});
  return {s.add("decode", {both}, {{"kind", kind}, {"size", shape[0]}, {"ranks", std::int64_t{2}}})};
}

}  // namespace

std::vector<OperatorCase> update_cases() {
  std::vector<OperatorCase> cases;
  add_rules(cases);
  cases.push_back({"sgd_csr", [](Scene& s) { return csr_update(s, "sgd_csr", false); }});
  cases.push_back({"adagrad_csr", [](Scene& s) { return csr_update(s, "adagrad_csr", true); }});
  cases.push_back(clip_case("off", 0));
  cases.push_back(clip_case("loose", 1e6));
  cases.push_back(clip_case("tight", 0.5));
  cases.push_back({"accumulate", [](Scene& s) {
                     const Shape shape{s.dim(3, 1037)};
                     return s.apply("accumulate", {s.constant(shape), s.constant(shape)});
                   }});
  cases.push_back({"bn_dx_matrix", [](Scene& s) { return bn_dx(s, {s.dim(4, 40), s.dim(3, 37)}); }});
  cases.push_back({"bn_dx_image", [](Scene& s) { return bn_dx(s, {4, s.dim(2, 19), s.dim(2, 7), 3}); }});
  cases.push_back({"bn_dx_masked", [](Scene& s) {
                     return masked_bn_dx(s, {4, s.dim(2, 19), s.dim(2, 7), 3});
                   }});
  cases.push_back({"relu_grad_of_sum", [](Scene& s) -> Values {
                     const Shape shape{s.dim(3, 70), 6};
                     return {s.add("relu_grad", {s.constant(shape), s.constant(shape), s.constant(shape)})};
                   }});
  cases.push_back({"bn_running", bn_running});
  cases.push_back({"split_cross_entropy", split_cross_entropy});
  cases.push_back({"count_correct_columns", [](Scene& s) { return count_correct(s, true); }});
  cases.push_back({"count_correct_sign", [](Scene& s) { return count_correct(s, false); }});
  cases.push_back({"argmax", [](Scene& s) -> Values {
                     return {s.add("argmax", {s.constant({3, 4, s.dim(5, 70)})})};
                   }});
  for (const std::string kind : {"bf16", "int8", "topk"}) {
    cases.push_back(
        {"compress_" + kind, [=](Scene& s) { return compress(s, kind, kind == "topk" ? 0.1 : 1); }});
  }
  for (const std::string dtype : {"f32", "f64", "bf16", "f16", "i32", "i64", "u8"}) {
    cases.push_back(
        {"cast_" + dtype, [=](Scene& s) -> Values {
           const Value x = s.add("cast", {s.constant({s.dim(5, 333)}, 0, 200)}, {{"dtype", dtype}});
           return {s.add("cast", {x}, {{"dtype", std::string("f32")}})};
         }});
  }
  return cases;
}

}  // namespace hocket
