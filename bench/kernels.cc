// How fast is each kernel, alone, on the shapes of the four dense models? Prints the median and the best time
// of many runs, with the rate that the best means: GFLOP/s and share of the measured peak for products, GB/s
// for the others.
//
//   taskset -c 1 bench_kernels [part of a name]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tensor/arena.h"
#include "tensor/kernels/attention.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/loss.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/normalisation.h"
#include "tensor/kernels/peak.h"
#include "tensor/kernels/pooling.h"
#include "tensor/kernels/shape.h"
#include "tensor/kernels/sparse.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/update.h"

namespace hocket::kernel {
namespace {

struct Case {
  std::string name;
  std::function<std::unique_ptr<Kernel>()> make;
  std::vector<std::size_t> in, out;  // Bytes of the operands.
  double flops = 0;                  // 0: bound by memory, rated by the bytes of the operands.
};

constexpr std::size_t kFloat = sizeof(float);

std::size_t f32(std::int64_t count) { return static_cast<std::size_t>(count) * kFloat; }

Case matmul_case(const std::string& name, const MatmulSpec& s) {
  const double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k);
  std::vector<std::size_t> in = {f32(s.batch * s.m * s.k), f32(s.batch * s.k * s.n)};
  if (s.has_bias) in.push_back(f32(s.n));
  return {name, [s] { return make_matmul(s); }, in, {f32(s.batch * s.m * s.n)}, flops};
}

Case dw_case(const std::string& name, const MatmulSpec& s) {
  const double flops = 2.0 * static_cast<double>(s.m * s.n * s.k);
  return {name, [s] { return make_matmul_dw(s); }, {f32(s.m * s.k), f32(s.m * s.n)}, {f32(s.k * s.n)}, flops};
}

// A linear layer with weights (outputs, inputs): forward, gradient of the input, gradient of the weight.
void add_linear(std::vector<Case>& cases, const std::string& name, std::int64_t rows, std::int64_t inputs,
                std::int64_t outputs, Activation activation) {
  cases.push_back(matmul_case(
      name + " forward",
      {.m = rows, .n = outputs, .k = inputs, .tb = true, .has_bias = true, .activation = activation}));
  cases.push_back(matmul_case(name + " dx", {.m = rows, .n = inputs, .k = outputs}));
  cases.push_back(dw_case(name + " dw", {.m = rows, .n = outputs, .k = inputs, .tb = true}));
}

void add_conv(std::vector<Case>& cases, const std::string& name, ConvSpec s) {
  s.layout = Layout::channels_last;
  const std::size_t x = f32(s.n * s.c * s.h * s.w), y = f32(s.n * s.o * s.oh() * s.ow());
  const std::size_t w = f32(s.o * s.c * s.kh * s.kw), bias = f32(s.o);
  const double flops = 2.0 * static_cast<double>(s.n * s.o * s.oh() * s.ow() * s.c * s.kh * s.kw);
  cases.push_back({name + " forward", [s] { return make_conv2d(s); }, {x, w, bias}, {y}, flops});
  cases.push_back({name + " dx", [s] { return make_conv2d_dx(s); }, {y, w}, {x}, flops});
  cases.push_back({name + " dw", [s] { return make_conv2d_dw(s); }, {y, x}, {w, bias}, flops});
}

void add_batch_norm(std::vector<Case>& cases, const std::string& name, BatchNormSpec s) {
  s.layout = Layout::channels_last;
  const std::size_t x = f32(s.n * s.c * s.spatial), c = f32(s.c), stats = f32(6 * s.c), weight = f32(s.n);
  BatchNormSpec relu = s;
  relu.activation = Activation::relu;
  cases.push_back({name + " stats", [s] { return make_bn_stats(s); }, {x, weight}, {stats}});
  cases.push_back({name + " apply+relu", [relu] { return make_bn_apply(relu); }, {x, stats, c, c}, {x}});
  cases.push_back(
      {name + " apply_grad", [s] { return make_bn_apply_grad(s); }, {x, x, stats, c}, {c, c, stats}});
  cases.push_back({name + " dx", [s] { return make_bn_dx(s); }, {x, x, stats, c, stats, weight}, {x}});
}

void add_pool(std::vector<Case>& cases, const std::string& name, PoolSpec s) {
  s.layout = Layout::channels_last;
  const std::size_t x = f32(s.n * s.c * s.h * s.w), y = f32(s.n * s.c * s.oh() * s.ow());
  cases.push_back({name, [s] { return make_max_pool(s); }, {x}, {y, y / kFloat}});
  cases.push_back({name + " dx", [s] { return make_max_pool_dx(s); }, {y, y / kFloat}, {x}});
}

void add_elementwise(std::vector<Case>& cases) {
  const std::int64_t n = 2048 * 1024;
  cases.push_back({"relu_grad 2M",
                   [=] {
                     return make_unary_grad({Unary::relu, n});
                   },
                   {f32(n), f32(n)},
                   {f32(n)}});
  cases.push_back({"gelu 2M", [=] { return make_unary({Unary::gelu, n}); }, {f32(n)}, {f32(n)}});
  cases.push_back({"gelu_grad 2M",
                   [=] {
                     return make_unary_grad({Unary::gelu, n});
                   },
                   {f32(n), f32(n)},
                   {f32(n)}});
  cases.push_back(
      {"add 2M", [=] { return make_binary({.a = {n}, .b = {n}, .y = {n}}); }, {f32(n), f32(n)}, {f32(n)}});
  cases.push_back({"add row 2048x1024",
                   [=] {
                     return make_binary({.a = {2048, 1024}, .b = {1024}, .y = {2048, 1024}});
                   },
                   {f32(n), f32(1024)},
                   {f32(n)}});
  cases.push_back({"sum rows 2048x1024",
                   [=] {
                     return make_reduce({.x = {2048, 1024}, .reduced = {true, false}});
                   },
                   {f32(n)},
                   {f32(1024)}});
  cases.push_back({"to channels last 128x64x7x7",
                   [=] {
                     return make_transpose({.x = {128, 64, 7, 7}, .perm = {0, 2, 3, 1}});
                   },
                   {f32(128 * 3136)},
                   {f32(128 * 3136)}});
  cases.push_back({"dropout 2M",
                   [=] { return make_dropout({.n = 2048, .c = 1024, .rate = 0.1}); },
                   {f32(n), 24},
                   {f32(n)}});
  cases.push_back({"cast bf16 2M",
                   [=] {
                     return make_cast({n, DType::f32, DType::bf16});
                   },
                   {f32(n)},
                   {f32(n) / 2}});
}

void add_gpt(std::vector<Case>& cases) {
  const RowsSpec rows{.rows = 2048, .width = 256};
  const std::size_t x = f32(2048 * 256), row = f32(2048), column = f32(256);
  const AttentionSpec s{.n = 16, .t = 128, .c = 256, .heads = 4};
  const std::size_t probs = f32(16 * 4 * 128 * 128);
  const double half = 2.0 * 16 * 4 * 128 * 128 * 64 / 2;  // Of one causal product.
  add_linear(cases, "gpt qkv", 2048, 256, 768, Activation::none);
  add_linear(cases, "gpt proj", 2048, 256, 256, Activation::none);
  add_linear(cases, "gpt up", 2048, 256, 1024, Activation::none);
  add_linear(cases, "gpt down", 2048, 1024, 256, Activation::none);
  cases.push_back({"gpt attention", [s] { return make_attention(s); }, {3 * x}, {x, probs}, 2 * half});
  cases.push_back(
      {"gpt attention_grad", [s] { return make_attention_grad(s); }, {x, 3 * x, probs}, {3 * x}, 4 * half});
  cases.push_back(
      {"gpt layer_norm", [=] { return make_layer_norm(rows); }, {x, column, column}, {x, row, row}});
  cases.push_back({"gpt layer_norm_grad",
                   [=] { return make_layer_norm_grad(rows); },
                   {x, x, row, row, column},
                   {x, column, column}});
  const LossSpec loss{.rows = 2048, .width = 256, .samples = 16};
  cases.push_back(
      {"gpt cross_entropy", [=] { return make_softmax_cross_entropy(loss); }, {x, row, 64}, {4, x}});
  cases.push_back({"gpt cross_entropy_grad",
                   [=] { return make_softmax_cross_entropy_grad(loss); },
                   {4, x, row, 64},
                   {x}});
}

void add_updates(std::vector<Case>& cases) {
  const std::int64_t n = 3'323'392;
  const UpdateSpec adamw{.rule = UpdateRule::adamw, .count = n, .decay = 0.01};
  const UpdateSpec momentum{.rule = UpdateRule::momentum, .count = 669'706};
  cases.push_back(
      {"adamw 3.3M", [=] { return make_update(adamw); }, {f32(n), f32(n), 32, f32(n), f32(n)}, {}});
  cases.push_back({"momentum 0.67M",
                   [=] { return make_update(momentum); },
                   {f32(669'706), f32(669'706), 32, f32(669'706)},
                   {}});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_linear(cases, "mlp fc1", 128, 784, 512, Activation::relu);
  add_linear(cases, "mlp fc2", 128, 512, 512, Activation::relu);
  add_linear(cases, "mlp fc3", 128, 512, 10, Activation::none);
  const ConvSpec lenet{
      .n = 128, .kh = 3, .kw = 3, .padding = 1, .has_bias = true, .activation = Activation::relu};
  const auto conv = [&](ConvSpec s, std::int64_t c, std::int64_t side, std::int64_t o, std::int64_t stride) {
    s.c = c, s.h = side, s.w = side, s.o = o, s.stride = stride;
    return s;
  };
  add_conv(cases, "lenet conv1", conv(lenet, 1, 28, 32, 1));
  add_conv(cases, "lenet conv2", conv(lenet, 32, 14, 64, 1));
  add_pool(cases, "lenet pool1", {.n = 128, .c = 32, .h = 28, .w = 28});
  add_pool(cases, "lenet pool2", {.n = 128, .c = 64, .h = 14, .w = 14});
  add_linear(cases, "lenet fc1", 128, 3136, 128, Activation::relu);
  const ConvSpec resnet{.n = 64, .kh = 3, .kw = 3, .padding = 1};
  add_conv(cases, "resnet first", conv(resnet, 3, 32, 16, 1));
  add_conv(cases, "resnet 16", conv(resnet, 16, 32, 16, 1));
  add_conv(cases, "resnet 16-32", conv(resnet, 16, 32, 32, 2));
  add_conv(cases, "resnet 32", conv(resnet, 32, 16, 32, 1));
  add_conv(cases, "resnet 32-64", conv(resnet, 32, 16, 64, 2));
  add_conv(cases, "resnet 64", conv(resnet, 64, 8, 64, 1));
  add_batch_norm(cases, "resnet bn16", {.n = 64, .c = 16, .spatial = 1024});
  add_batch_norm(cases, "resnet bn64", {.n = 64, .c = 64, .spatial = 64});
  add_gpt(cases);
  add_elementwise(cases);
  add_updates(cases);
  return cases;
}

// Floats around zero; read as integers they are outside every table, as doubles they are small.
void fill(std::byte* bytes, std::size_t size) {
  Rng rng({size});
  for (std::size_t i = 0; i + kFloat <= size; i += kFloat) {
    const auto value = static_cast<float>(rng.uniform(-0.5, 0.5));
    std::memcpy(bytes + i, &value, kFloat);
  }
}

std::vector<double> time_runs(const Case& one) {
  using Clock = std::chrono::steady_clock;
  const std::unique_ptr<Kernel> kernel = one.make();
  std::vector<Arena> arenas;
  std::vector<std::byte*> in, out;
  for (const std::size_t bytes : one.in) in.push_back(arenas.emplace_back(align_up(bytes)).data());
  for (const std::size_t bytes : one.out) out.push_back(arenas.emplace_back(align_up(bytes)).data());
  for (const Arena& arena : arenas) fill(arena.data(), arena.size());
  const Arena scratch(align_up(kernel->scratch_bytes() + 1));
  std::vector<double> seconds;
  const auto start = Clock::now();
  while (seconds.size() < 9 ||
         (Clock::now() - start < std::chrono::milliseconds(300) && seconds.size() < 1000)) {
    const auto begin = Clock::now();
    kernel->run(in, out, scratch.data());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

void report(const Case& one, double peak) {
  const std::vector<double> seconds = time_runs(one);
  const double best = seconds.front(), median = seconds[seconds.size() / 2];
  std::size_t bytes = 0;
  for (const std::size_t size : one.in) bytes += size;
  for (const std::size_t size : one.out) bytes += size;
  const std::string rate =
      one.flops > 0
          ? fmt::format("{:6.1f} GFLOP/s {:4.0f} %", one.flops / best * 1e-9, 100 * one.flops / best / peak)
          : fmt::format("{:6.1f} GB/s", static_cast<double>(bytes) / best * 1e-9);
  fmt::print("{:<30} median {:9.1f} us  best {:9.1f} us  {}\n", one.name, median * 1e6, best * 1e6, rate);
}

}  // namespace
}  // namespace hocket::kernel

int main(int argc, char** argv) {
  using namespace hocket::kernel;
  const double peak = measure_f32_peak();
  fmt::print("f32 peak of one core: {:.1f} GFLOP/s\n", peak * 1e-9);
  const std::string part = argc > 1 ? argv[1] : "";
  for (const auto& one : all_cases()) {
    if (one.name.find(part) != std::string::npos) report(one, peak);
  }
}
