#include "runtime/operator_cases.h"

namespace hocket {
namespace {

using Values = std::vector<Value>;

std::int64_t bit(bool value) { return value ? 1 : 0; }

Shape swapped_if(bool swap, const Shape& shape) {
  Shape result = shape;
  if (swap) std::swap(result[result.rank() - 2], result[result.rank() - 1]);
  return result;
}

// op(a)·op(b) with `leading` dimensions before (m, k) and, when batched, before (k, n).
OperatorCase matmul_case(std::string_view name, bool ta, bool tb, const IntList& leading, bool batched) {
  const auto build = [=](Scene& s) -> Values {
    IntList a(leading), b(batched ? leading : IntList{});
    const std::int64_t m = s.dim(2, 33), k = s.dim(3, 70), n = s.dim(4, 51);
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    const Value left = s.parameter(swapped_if(ta, Shape(a)));
    const Value right = s.parameter(swapped_if(tb, Shape(b)));
    return {s.add("matmul", {left, right}, {{"ta", bit(ta)}, {"tb", bit(tb)}})};
  };
  return {std::string("matmul_") + std::string(name) + (ta ? "_ta" : "") + (tb ? "_tb" : ""), build};
}

void add_matrix_cases(std::vector<OperatorCase>& cases) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      cases.push_back(matmul_case("plain", ta, tb, {}, false));
      cases.push_back(matmul_case("batched", ta, tb, {2}, true));
      cases.push_back(matmul_case("batched_twice", ta, tb, {2, 3}, true));
      if (!ta) cases.push_back(matmul_case("rows", ta, tb, {2, 3}, false));
    }
  }
  cases.push_back(
      {"matmul_bias", [](Scene& s) -> Values {
         const std::int64_t k = s.dim(3, 64), n = s.dim(4, 48);
         return {s.add("matmul", {s.parameter({s.dim(5, 40), k}), s.parameter({k, n}), s.parameter({n})})};
       }});
  cases.push_back({"matmul_bias_relu", [](Scene& s) -> Values {
                     const std::int64_t k = s.dim(3, 64), n = s.dim(4, 48);
                     return {s.add("matmul", {s.parameter({2, 3, k}), s.parameter({n, k}), s.parameter({n})},
                                   {{"tb", bit(true)}, {"act", std::string("relu")}})};
                   }});
  cases.push_back({"value_used_twice", [](Scene& s) -> Values {
                     const Value x = s.parameter({3, 3});
                     return {s.add("matmul", {x, s.add("mul", {x, x})})};
                   }});
}

// Rows of 2, 0 and 3 entries in room for 7; feature 4 comes twice, and 9 stands only in the padding.
Values csr_matmul(Scene& s, std::int64_t width, bool is_sparse) {
  const Value values = s.constant({7});
  const Value columns = s.bind("columns", Tensor::of<std::int32_t>({7}, {0, 4, 1, 4, 2, 9, 9}));
  const Value offsets = s.bind("offsets", Tensor::of<std::int32_t>({4}, {0, 2, 2, 5}));
  const Value w = s.parameter({10, width}, -1, 1, {{"sparse", bit(is_sparse)}});
  return {s.add("csr_matmul", {values, columns, offsets, w})};
}

// Ids that repeat, and two outside the table.
Values embedding(Scene& s, bool is_sparse) {
  const Value ids = s.bind("ids", Tensor::of<std::int32_t>({2, 4}, {3, 1, 3, 0, -1, 3, 6, 5}));
  const Value table = s.parameter({6, s.dim(3, 40)}, -1, 1, {{"sparse", bit(is_sparse)}});
  return {s.add("embedding", {table, ids})};
}

void add_sparse_cases(std::vector<OperatorCase>& cases) {
  cases.push_back({"csr_matmul_one_column", [](Scene& s) { return csr_matmul(s, 1, false); }});
  cases.push_back({"csr_matmul_dense", [](Scene& s) { return csr_matmul(s, 3, false); }});
  cases.push_back({"csr_matmul_rows", [](Scene& s) { return csr_matmul(s, 3, true); }});
  cases.push_back({"embedding_dense", [](Scene& s) { return embedding(s, false); }});
  cases.push_back({"embedding_rows", [](Scene& s) { return embedding(s, true); }});
}

OperatorCase binary_case(const std::string& op, std::string_view name, const Shape& a, const Shape& b) {
  return {op + "_" + std::string(name), [=](Scene& s) -> Values {
            return {s.add(op, {s.parameter(a), s.parameter(b, 0.5, 2)})};
          }};
}

OperatorCase unary_case(const std::string& op, Attributes attributes = {}) {
  return {op, [=](Scene& s) -> Values {
            return {s.add(op, {s.parameter({s.dim(7, 1037)}, -3, 3)}, attributes)};
          }};
}

Values dropout(Scene& s, const Shape& shape) {
  const Value key = s.bind("key", Tensor::of<std::int64_t>({3}, {7, 12, 64}));
  return {s.add("dropout", {s.parameter(shape), key}, {{"rate", 0.4}, {"stream", std::int64_t{3}}})};
}

void add_elementwise_cases(std::vector<OperatorCase>& cases) {
  for (const std::string op : {"add", "sub", "mul", "div"}) {
    cases.push_back(binary_case(op, "same", {2, 3, 4}, {2, 3, 4}));
    cases.push_back(binary_case(op, "last", {2, 3, 4}, {4}));
    cases.push_back(binary_case(op, "middle", {2, 3, 4}, {3, 1}));
    cases.push_back(binary_case(op, "both", {3, 1}, {1, 4}));
    cases.push_back(binary_case(op, "scalar_right", {2, 3}, {}));
    cases.push_back(binary_case(op, "scalar_left", {}, {2, 3}));
    cases.push_back(binary_case(op, "longer_right", {3, 1}, {2, 1, 6}));
  }
  for (const std::string op : {"relu", "tanh", "sigmoid", "gelu", "exp"}) cases.push_back(unary_case(op));
  cases.push_back(unary_case("scale", {{"factor", -2.5}, {"offset", 0.75}}));
  cases.push_back({"dropout_2", [](Scene& s) { return dropout(s, {4, s.dim(5, 333)}); }});
  cases.push_back({"dropout_3", [](Scene& s) { return dropout(s, {2, 3, s.dim(4, 65)}); }});
  cases.push_back({"cast", [](Scene& s) -> Values {
                     return {s.add("cast", {s.parameter({5})}, {{"dtype", std::string("f64")}})};
                   }});
}

OperatorCase shape_case(const std::string& name, const std::string& op, const Shape& x,
                        Attributes attributes) {
  return {name, [=](Scene& s) -> Values { return {s.add(op, {s.parameter(x)}, attributes)}; }};
}

OperatorCase concat_case(std::int64_t axis) {
  return {"concat_" + std::to_string(axis), [=](Scene& s) -> Values {
            Shape a{2, 3, 4}, b{2, 3, 4}, c{2, 3, 4};
            b[static_cast<int>(axis)] = 1;
            c[static_cast<int>(axis)] = 5;
            return {s.add("concat", {s.parameter(a), s.parameter(b), s.parameter(c)}, {{"axis", axis}})};
          }};
}

void add_reduce_cases(std::vector<OperatorCase>& cases) {
  for (const std::string op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    for (const std::int64_t keep : {0, 1}) {
      const std::string tail = keep != 0 ? "_keep" : "";
      cases.push_back(shape_case(op + "_all" + tail, op, {2, 3, 4}, {{"keep", keep}}));
      cases.push_back(
          shape_case(op + "_first" + tail, op, {2, 3, 4}, {{"axes", IntList{0}}, {"keep", keep}}));
      cases.push_back(shape_case(op + "_last" + tail, op, {2, 3, 4}, {{"axes", IntList{2}}, {"keep", keep}}));
      cases.push_back(
          shape_case(op + "_outer" + tail, op, {2, 3, 4}, {{"axes", IntList{2, 0}}, {"keep", keep}}));
    }
  }
}

void add_shape_cases(std::vector<OperatorCase>& cases) {
  cases.push_back(shape_case("reshape", "reshape", {2, 3, 4}, {{"shape", IntList{4, -1}}}));
  cases.push_back(shape_case("transpose_2", "transpose", {3, 4}, {{"perm", IntList{1, 0}}}));
  cases.push_back(shape_case("transpose_4", "transpose", {2, 3, 4, 6}, {{"perm", IntList{2, 0, 3, 1}}}));
  cases.push_back(shape_case("slice", "slice", {4, 6}, {{"begin", IntList{1, 0}}, {"end", IntList{3, -1}}}));
  cases.push_back(shape_case("slice_steps", "slice", {4, 7},
                             {{"begin", IntList{0, 1}}, {"end", IntList{-1, 6}}, {"step", IntList{2, 3}}}));
  cases.push_back(shape_case("unslice", "unslice", {2, 2},
                             {{"shape", IntList{4, 7}}, {"begin", IntList{0, 1}}, {"step", IntList{2, 3}}}));
  cases.push_back(shape_case("pad", "pad", {2, 3}, {{"before", IntList{1, 0}}, {"after", IntList{2, 1}}}));
  for (const std::int64_t axis : {0, 1, 2}) cases.push_back(concat_case(axis));
  cases.push_back(shape_case("sum_to_last", "sum_to", {2, 3, 4}, {{"shape", IntList{4}}}));
  cases.push_back(shape_case("sum_to_middle", "sum_to", {2, 3, 4}, {{"shape", IntList{3, 1}}}));
  cases.push_back(shape_case("broadcast_to_rows", "broadcast_to", {4}, {{"shape", IntList{2, 3, 4}}}));
  cases.push_back(shape_case("broadcast_to_columns", "broadcast_to", {3, 1}, {{"shape", IntList{2, 3, 4}}}));
  add_reduce_cases(cases);
}

OperatorCase cross_entropy_case(std::string_view name, std::int64_t rows_per_sample) {
  return {std::string("softmax_cross_entropy_") + std::string(name), [=](Scene& s) -> Values {
            const std::int64_t n = s.dim(3, 21), classes = s.dim(4, 65);
            const Value logits = s.parameter({n * rows_per_sample, classes}, -3, 3);
            const Value labels = s.labels({n, rows_per_sample}, classes);
            return {s.apply("softmax_cross_entropy", {logits, labels, s.weights(n)})[0]};
          }};
}

OperatorCase loss_case(const std::string& op, std::int64_t width, bool is_flat) {
  return {op + "_" + std::to_string(width) + (is_flat ? "_flat" : ""), [=](Scene& s) -> Values {
            const std::int64_t n = s.dim(4, 37);
            const Value target = s.targets(is_flat ? Shape{n} : Shape{n, width});
            return {s.add(op, {s.parameter({n, width}, -2, 2), target, s.weights(n)})};
          }};
}

OperatorCase attention_case(std::string_view name, std::int64_t heads, std::int64_t causal) {
  return {std::string("attention_") + std::string(name), [=](Scene& s) -> Values {
            const Value qkv = s.parameter({2, s.dim(4, 33), 3 * s.dim(4, 64)}, -2, 2);
            return {s.apply("attention", {qkv}, {{"heads", heads}, {"causal", causal}})[0]};
          }};
}

Values layer_norm(Scene& s, const Shape& shape) {
  return {s.apply("layer_norm",
                  {s.parameter(shape), s.parameter({shape.back()}), s.parameter({shape.back()})},
                  {{"eps", 1e-3}})[0]};
}

Values matrix_batch_norm(Scene& s) {
  const std::int64_t n = s.dim(5, 40), c = s.dim(3, 37);
  const Value x = s.parameter({n, c}, -1, 3);
  const Value stats = s.add("bn_stats", {x, s.weights(n)});
  return {s.add("bn_apply", {x, stats, s.parameter({c}, 0.5, 2), s.parameter({c})})};
}

void add_loss_cases(std::vector<OperatorCase>& cases) {
  cases.push_back({"softmax", [](Scene& s) -> Values {
                     return {s.add("softmax", {s.parameter({2, 3, s.dim(4, 65)}, -3, 3)})};
                   }});
  cases.push_back({"log_softmax", [](Scene& s) -> Values {
                     return {s.add("log_softmax", {s.parameter({3, s.dim(4, 65)}, -3, 3)})};
                   }});
  cases.push_back(cross_entropy_case("samples", 1));
  cases.push_back(cross_entropy_case("positions", 2));
  for (const std::string op : {"sigmoid_cross_entropy", "hinge", "squared_error"}) {
    cases.push_back(loss_case(op, 1, true));
    cases.push_back(loss_case(op, 1, false));
    cases.push_back(loss_case(op, 3, false));
  }
  cases.push_back({"bn_matrix", matrix_batch_norm});
  cases.push_back({"layer_norm_2", [](Scene& s) { return layer_norm(s, {3, s.dim(4, 65)}); }});
  cases.push_back({"layer_norm_3", [](Scene& s) { return layer_norm(s, {2, 3, s.dim(4, 64)}); }});
  cases.push_back(attention_case("causal", 2, 1));
  cases.push_back(attention_case("full", 2, 0));
  cases.push_back(attention_case("one_head", 1, 1));
}

}  // namespace

std::vector<OperatorCase> differentiable_cases() {
  std::vector<OperatorCase> cases;
  add_matrix_cases(cases);
  add_sparse_cases(cases);
  add_elementwise_cases(cases);
  add_shape_cases(cases);
  add_loss_cases(cases);
  return cases;
}

}  // namespace hocket
