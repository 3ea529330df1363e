#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tensor/kernels/normalisation.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/normalisation.h"

namespace hocket::kernel {
namespace {

constexpr double kBatchNormTolerance = 2e-5;

// Operands of a batch norm whose statistics come from the reference.
struct Case {
  explicit Case(const BatchNormSpec& s)
      : spec(s),
        count(s.n * s.c * s.spatial),
        x(random_floats(count, 1, 2, 5)),
        dy(random_floats(count, 2)),
        weight(random_floats(s.n, 3, 0, 1)),
        gamma(random_floats(s.c, 4, 0.5, 2)),
        beta(random_floats(s.c, 5)),
        stats(DType::f64, 3 * s.c),
        dstats(DType::f64, 3 * s.c) {
    weight.as<float>()[s.n - 1] = 0;
    std::byte* in[] = {x.data(), weight.data()};
    std::byte* out[] = {stats.data()};
    reference::make_bn_stats(s)->run(in, out, nullptr);
    for (std::int64_t i = 0; i < dstats.count(); ++i)
      dstats.as<double>()[i] = 0.1 * std::sin(static_cast<double>(i));
  }

  BatchNormSpec spec;
  std::int64_t count;
  Operand x, dy, weight, gamma, beta, stats, dstats;
};

std::vector<BatchNormSpec> batch_norm_shapes() {
  std::vector<BatchNormSpec> result;
  for (const std::int64_t c : {1, 3, 16, 17, 33, 64}) {
    for (const auto& [n, spatial] : {std::pair{9, 1}, {5, 35}, {70, 4}, {2, 1000}}) {
      result.push_back({.n = n, .c = c, .spatial = spatial, .layout = Layout::channels_last});
    }
  }
  return result;
}

std::string name_of(const BatchNormSpec& s) {
  return fmt::format(" n={} c={} spatial={}", s.n, s.c, s.spatial);
}

TEST(BatchNorm, StatisticsAgreeWithTheReference) {
  for (const BatchNormSpec& s : batch_norm_shapes()) {
    const Case k(s);
    expect_same(make_bn_stats(s), reference::make_bn_stats(s), {k.x, k.weight}, {k.stats}, 1e-6,
                "bn_stats" + name_of(s));
  }
}

TEST(BatchNorm, ForwardAgreesWithTheReference) {
  for (BatchNormSpec s : batch_norm_shapes()) {
    for (const Activation activation : {Activation::none, Activation::relu}) {
      s.activation = activation;
      const Case k(s);
      expect_same(make_bn_apply(s), reference::make_bn_apply(s), {k.x, k.stats, k.gamma, k.beta}, {k.dy},
                  kBatchNormTolerance, "bn_apply" + name_of(s));
      expect_same(make_bn_inference(s), reference::make_bn_inference(s),
                  {k.x, k.beta, random_floats(s.c, 7, 0.5, 3), k.gamma, k.beta}, {k.dy}, kBatchNormTolerance,
                  "bn_inference" + name_of(s));
      s.has_residual = true;
      const Operand residual = random_floats(k.count, 8);
      expect_same(make_bn_apply(s), reference::make_bn_apply(s), {k.x, k.stats, k.gamma, k.beta, residual},
                  {k.dy}, kBatchNormTolerance, "bn_apply with a residual" + name_of(s));
      expect_same(make_bn_inference(s), reference::make_bn_inference(s),
                  {k.x, k.beta, random_floats(s.c, 7, 0.5, 3), k.gamma, k.beta, residual}, {k.dy},
                  kBatchNormTolerance, "bn_inference with a residual" + name_of(s));
      s.has_residual = false;
    }
  }
}

TEST(BatchNorm, GradientsAgreeWithTheReference) {
  for (const BatchNormSpec& s : batch_norm_shapes()) {
    const Case k(s);
    expect_same(make_bn_apply_grad(s), reference::make_bn_apply_grad(s), {k.dy, k.x, k.stats, k.gamma},
                {k.gamma, k.gamma, k.stats}, kBatchNormTolerance, "bn_apply_grad" + name_of(s));
    expect_same(make_bn_apply_dx(s), reference::make_bn_apply_dx(s), {k.dy, k.x, k.stats, k.gamma}, {k.x},
                kBatchNormTolerance, "bn_apply_dx" + name_of(s));
    expect_same(make_bn_stats_dx(s), reference::make_bn_stats_dx(s), {k.dstats, k.x, k.weight}, {k.x},
                kBatchNormTolerance, "bn_stats_dx" + name_of(s));
    expect_same(make_bn_dx(s), reference::make_bn_dx(s), {k.dy, k.x, k.stats, k.gamma, k.dstats, k.weight},
                {k.x}, kBatchNormTolerance, "bn_dx" + name_of(s));
  }
}

TEST(BatchNorm, GradientsWithAReluFoldedInAgreeWithTheReference) {
  for (BatchNormSpec s : batch_norm_shapes()) {
    const Case k(s);
    s.activation = Activation::relu;
    expect_same(make_bn_apply_grad(s), reference::make_bn_apply_grad(s),
                {k.dy, k.x, k.stats, k.gamma, k.beta}, {k.gamma, k.gamma, k.stats}, kBatchNormTolerance,
                "masked bn_apply_grad" + name_of(s));
    expect_same(make_bn_dx(s), reference::make_bn_dx(s),
                {k.dy, k.x, k.stats, k.gamma, k.dstats, k.weight, k.beta}, {k.x}, kBatchNormTolerance,
                "masked bn_dx" + name_of(s));
  }
}

TEST(BatchNorm, VarianceSurvivesALargeMean) {
  const BatchNormSpec s{.n = 64, .c = 1, .spatial = 64, .layout = Layout::channels_last};
  const Operand x = random_floats(64 * 64, 1, 999.5, 1000.5);
  const Operand stats(DType::f64, 3), exact(DType::f64, 3);
  const Operand weight = floats(std::vector<float>(64, 1.0F));
  std::byte* in[] = {x.data(), weight.data()};
  std::byte* out[] = {stats.data()};
  std::byte* exact_out[] = {exact.data()};
  const auto kernel = make_bn_stats(s);
  std::vector<std::byte> scratch(kernel->scratch_bytes());
  kernel->run(in, out, scratch.data());
  reference::make_bn_stats(s)->run(in, exact_out, nullptr);
  const auto variance = [](const Operand& o) {
    const double* v = o.as<double>();
    return v[1] / v[2] - v[0] / v[2] * (v[0] / v[2]);
  };
  EXPECT_NEAR(variance(stats), variance(exact), 1e-6 * variance(exact));
}

TEST(BatchNorm, DoesNotDependOnTheNumberOfThreads) {
  const BatchNormSpec s{.n = 33, .c = 16, .spatial = 64, .layout = Layout::channels_last};
  const Case k(s);
  expect_same(with_threads(2, make_bn_stats(s)), make_bn_stats(s), {k.x, k.weight}, {k.stats}, 0, "bn_stats");
  expect_same(with_threads(2, make_bn_apply_grad(s)), make_bn_apply_grad(s), {k.dy, k.x, k.stats, k.gamma},
              {k.gamma, k.gamma, k.stats}, 0, "bn_apply_grad");
}

TEST(BatchNorm, LeavesPlainImagesToTheReference) {
  EXPECT_EQ(make_bn_stats({.n = 2, .c = 3, .spatial = 4, .layout = Layout::plain}), nullptr);
}

}  // namespace
}  // namespace hocket::kernel
