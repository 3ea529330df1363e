#include "graph/build.h"

namespace hocket {
namespace {

// Attributes without those that have their default, so that a printed graph shows what is special.
class Chosen {
 public:
  template <typename T>
  Chosen&& unless(std::string_view key, T value, T otherwise) && {
    if (value != otherwise) attributes_.set(key, Attribute(std::move(value)));
    return std::move(*this);
  }
  Attributes take() && { return std::move(attributes_); }

 private:
  Attributes attributes_;
};

Attributes pool_attributes(const PoolOptions& options) {
  Attributes attributes =
      Chosen()
          .unless("stride", options.stride == 0 ? options.kernel : options.stride, options.kernel)
          .unless("padding", options.padding, std::int64_t{0})
          .take();
  attributes.set("kernel", options.kernel);
  return attributes;
}

Attributes reduce_attributes(IntList axes, bool keep) {
  Attributes attributes{{"axes", std::move(axes)}};
  if (keep) attributes.set("keep", std::int64_t{1});
  return attributes;
}

Attributes eps_attribute(double eps) { return Chosen().unless("eps", eps, 1e-5).take(); }

}  // namespace

Value matmul(Value a, Value b, bool ta, bool tb, std::string_view name) {
  constexpr std::int64_t kNo = 0;
  Attributes attributes =
      Chosen().unless("ta", std::int64_t{ta}, kNo).unless("tb", std::int64_t{tb}, kNo).take();
  return a.graph().add("matmul", {a, b}, std::move(attributes), name);
}

Value matmul_nt(Value x, Value w, std::string_view name) { return matmul(x, w, false, true, name); }

Value conv2d(Value x, Value w, Value bias, const Conv2dOptions& options, std::string_view name) {
  Attributes attributes = Chosen()
                              .unless("stride", options.stride, Conv2dOptions().stride)
                              .unless("padding", options.padding, Conv2dOptions().padding)
                              .unless("groups", options.groups, Conv2dOptions().groups)
                              .take();
  if (!bias) return x.graph().add("conv2d", {x, w}, std::move(attributes), name);
  return x.graph().add("conv2d", {x, w, bias}, std::move(attributes), name);
}

Value csr_matmul(Value values, Value columns, Value offsets, Value w, std::string_view name) {
  return w.graph().add("csr_matmul", {values, columns, offsets, w}, {}, name);
}

Value max_pool(Value x, const PoolOptions& options, std::string_view name) {
  return x.graph().add("max_pool", {x}, pool_attributes(options), name);
}

Value avg_pool(Value x, const PoolOptions& options, std::string_view name) {
  return x.graph().add("avg_pool", {x}, pool_attributes(options), name);
}

Value global_avg_pool(Value x, std::string_view name) {
  return x.graph().add("global_avg_pool", {x}, {}, name);
}

Value bn_stats(Value x, Value weight, std::string_view name) {
  return x.graph().add("bn_stats", {x, weight}, {}, name);
}

Value bn_apply(Value x, Value stats, Value gamma, Value beta, double eps, std::string_view name) {
  return x.graph().add("bn_apply", {x, stats, gamma, beta}, eps_attribute(eps), name);
}

void bn_running(Value stats, Value mean, Value variance, double momentum, std::string_view name) {
  const Value operands[] = {stats, mean, variance};
  stats.graph().apply("bn_running", operands, Chosen().unless("momentum", momentum, 0.1).take(), name);
}

Value layer_norm(Value x, Value gamma, Value beta, double eps, std::string_view name) {
  return x.graph().add("layer_norm", {x, gamma, beta}, eps_attribute(eps), name);
}

Value add(Value a, Value b, std::string_view name) { return a.graph().add("add", {a, b}, {}, name); }
Value sub(Value a, Value b, std::string_view name) { return a.graph().add("sub", {a, b}, {}, name); }
Value mul(Value a, Value b, std::string_view name) { return a.graph().add("mul", {a, b}, {}, name); }
Value div(Value a, Value b, std::string_view name) { return a.graph().add("div", {a, b}, {}, name); }

Value scale(Value x, double factor, double offset, std::string_view name) {
  return x.graph().add("scale", {x},
                       Chosen().unless("factor", factor, 1.0).unless("offset", offset, 0.0).take(), name);
}

Value relu(Value x, std::string_view name) { return x.graph().add("relu", {x}, {}, name); }
Value tanh(Value x, std::string_view name) { return x.graph().add("tanh", {x}, {}, name); }
Value sigmoid(Value x, std::string_view name) { return x.graph().add("sigmoid", {x}, {}, name); }
Value gelu(Value x, std::string_view name) { return x.graph().add("gelu", {x}, {}, name); }
Value exp(Value x, std::string_view name) { return x.graph().add("exp", {x}, {}, name); }

Value dropout(Value x, Value key, double rate, std::int64_t stream, std::string_view name) {
  return x.graph().add("dropout", {x, key}, {{"rate", rate}, {"stream", stream}}, name);
}

Value cast(Value x, DType dtype, std::string_view name) {
  return x.graph().add("cast", {x}, {{"dtype", std::string(name_of(dtype))}}, name);
}

Value reshape(Value x, IntList shape, std::string_view name) {
  return x.graph().add("reshape", {x}, {{"shape", std::move(shape)}}, name);
}

Value flatten(Value x, std::string_view name) { return reshape(x, {-1, x.shape().count() / x.dim(0)}, name); }

Value transpose(Value x, IntList perm, std::string_view name) {
  return x.graph().add("transpose", {x}, {{"perm", std::move(perm)}}, name);
}

Value slice(Value x, IntList begin, IntList end, IntList step, std::string_view name) {
  Attributes attributes{{"begin", std::move(begin)}, {"end", std::move(end)}};
  if (!step.empty()) attributes.set("step", std::move(step));
  return x.graph().add("slice", {x}, std::move(attributes), name);
}

Value pad(Value x, IntList before, IntList after, std::string_view name) {
  return x.graph().add("pad", {x}, {{"before", std::move(before)}, {"after", std::move(after)}}, name);
}

Value concat(std::span<const Value> parts, std::int64_t axis, std::string_view name) {
  return parts.front().graph().apply("concat", parts, {{"axis", axis}}, name).front();
}

Value broadcast_to(Value x, IntList shape, std::string_view name) {
  return x.graph().add("broadcast_to", {x}, {{"shape", std::move(shape)}}, name);
}

Value reduce_sum(Value x, IntList axes, bool keep, std::string_view name) {
  return x.graph().add("reduce_sum", {x}, reduce_attributes(std::move(axes), keep), name);
}

Value reduce_mean(Value x, IntList axes, bool keep, std::string_view name) {
  return x.graph().add("reduce_mean", {x}, reduce_attributes(std::move(axes), keep), name);
}

Value reduce_max(Value x, IntList axes, bool keep, std::string_view name) {
  return x.graph().add("reduce_max", {x}, reduce_attributes(std::move(axes), keep), name);
}

Value argmax(Value x, std::string_view name) { return x.graph().add("argmax", {x}, {}, name); }
Value softmax(Value x, std::string_view name) { return x.graph().add("softmax", {x}, {}, name); }
Value log_softmax(Value x, std::string_view name) { return x.graph().add("log_softmax", {x}, {}, name); }

Value softmax_cross_entropy(Value logits, Value label, Value weight, std::string_view name) {
  return logits.graph().add("softmax_cross_entropy", {logits, label, weight}, {}, name);
}

Value sigmoid_cross_entropy(Value x, Value label, Value weight, std::string_view name) {
  return x.graph().add("sigmoid_cross_entropy", {x, label, weight}, {}, name);
}

Value hinge(Value x, Value label, Value weight, std::string_view name) {
  return x.graph().add("hinge", {x, label, weight}, {}, name);
}

Value squared_error(Value x, Value label, Value weight, std::string_view name) {
  return x.graph().add("squared_error", {x, label, weight}, {}, name);
}

Value count_correct(Value x, Value label, Value weight, std::string_view name) {
  return x.graph().add("count_correct", {x, label, weight}, {}, name);
}

Value embedding(Value table, Value ids, std::string_view name) {
  return table.graph().add("embedding", {table, ids}, {}, name);
}

Value attention(Value qkv, std::int64_t heads, bool causal, std::string_view name) {
  Attributes attributes{{"heads", heads}};
  if (!causal) attributes.set("causal", std::int64_t{0});
  return qkv.graph().add("attention", {qkv}, std::move(attributes), name);
}

}  // namespace hocket
