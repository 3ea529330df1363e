#include "tensor/reference/matrix.h"

#include <gtest/gtest.h>

#include "tensor/reference/elementwise.h"
#include "tensor/reference/normalisation.h"
#include "tensor/reference/pooling.h"
#include "tensor/reference/run_kernel.h"
#include "tensor/reference/sparse.h"

namespace hocket::reference {
namespace {

TEST(ReferenceMatmul, MultipliesAddsAndClamps) {
  MatmulSpec spec{.m = 2, .n = 2, .k = 2};
  spec.has_bias = true;
  spec.activation = Activation::relu;
  const Tensor y(DType::f32, {2, 2});
  run_kernel(*make_matmul(spec),
             {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2, 2}, {5, 6, 7, 8}),
              Tensor::of<float>({2}, {-20, 1})},
             {y});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{0, 23, 23, 51}));
}

TEST(ReferenceMatmul, ReadsBf16) {
  const MatmulSpec spec{.m = 1, .n = 1, .k = 2, .input_dtype = DType::bf16};
  const Tensor a(DType::bf16, {1, 2}), b(DType::bf16, {2, 1}), y(DType::f32, {1, 1});
  run_kernel(*make_cast({2, DType::f32, DType::bf16}), {Tensor::of<float>({2}, {1.5F, 2})}, {a});
  run_kernel(*make_cast({2, DType::f32, DType::bf16}), {Tensor::of<float>({2}, {4, 0.25F})}, {b});
  run_kernel(*make_matmul(spec), {a, b}, {y});
  EXPECT_EQ(y.values<float>()[0], 6.5F);
}

TEST(ReferenceConv2d, SlidesOverThePaddedImage) {
  const ConvSpec spec{.n = 1, .c = 1, .h = 2, .w = 2, .o = 1, .kh = 3, .kw = 3, .padding = 1};
  const Tensor w = Tensor::of<float>({1, 1, 3, 3}, {0, 0, 0, 0, 1, 10, 0, 0, 100});
  const Tensor y(DType::f32, {1, 1, 2, 2});
  run_kernel(*make_conv2d(spec), {Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4}), w}, {y});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{421, 2, 43, 4}));
}

TEST(ReferenceMaxPool, MarksTheFirstMaximum) {
  const PoolSpec spec{.n = 1, .c = 1, .h = 2, .w = 4};
  const Tensor y(DType::f32, {1, 1, 1, 2}), index(DType::u8, {1, 1, 1, 2}), dx(DType::f32, {1, 1, 2, 4});
  run_kernel(*make_max_pool(spec), {Tensor::of<float>({1, 1, 2, 4}, {1, 5, -3, -4, 5, 5, -2, -2})},
             {y, index});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{5, -2}));
  EXPECT_EQ(elements<std::uint8_t>(index), (std::vector<std::uint8_t>{1, 2}));
  run_kernel(*make_max_pool_dx(spec), {Tensor::of<float>({2}, {10, 20}), index}, {dx});
  EXPECT_EQ(elements<float>(dx), (std::vector<float>{0, 10, 0, 0, 0, 0, 20, 0}));
}

TEST(ReferenceAvgPool, CountsPaddingAsZeros) {
  const PoolSpec spec{.n = 1, .c = 1, .h = 2, .w = 2, .kernel = 2, .stride = 2, .padding = 1};
  const Tensor y(DType::f32, {1, 1, 2, 2});
  run_kernel(*make_avg_pool(spec), {Tensor::of<float>({1, 1, 2, 2}, {4, 8, 12, 16})}, {y});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{1, 2, 3, 4}));
}

TEST(ReferenceBatchNorm, LeavesOutSamplesWithoutWeight) {
  const BatchNormSpec spec{.n = 3, .c = 1, .eps = 0, .dtype = DType::f64};
  const Tensor x = Tensor::of<double>({3, 1}, {1, 3, 1000}), weight = Tensor::of<float>({3}, {1, 1, 0});
  const Tensor stats(DType::f64, {3}), y(DType::f64, {3, 1});
  run_kernel(*make_bn_stats(spec), {x, weight}, {stats});
  EXPECT_EQ(elements<double>(stats), (std::vector<double>{4, 10, 2}));
  run_kernel(*make_bn_apply(spec), {x, stats, Tensor::of<double>({1}, {2}), Tensor::of<double>({1}, {5})},
             {y});
  EXPECT_DOUBLE_EQ(y.values<double>()[0], 3);
  EXPECT_DOUBLE_EQ(y.values<double>()[1], 7);
}

TEST(ReferenceBatchNorm, RunningVarianceIsUnbiased) {
  const BatchNormSpec spec{.c = 1, .momentum = 0.5, .dtype = DType::f64};
  const Tensor mean = Tensor::of<double>({1}, {0}), variance = Tensor::of<double>({1}, {1});
  run_kernel(*make_bn_running(spec), {Tensor::of<double>({3}, {4, 10, 2}), mean, variance});
  EXPECT_DOUBLE_EQ(mean.values<double>()[0], 1);        // Of 1 and 3: the mean is 2,
  EXPECT_DOUBLE_EQ(variance.values<double>()[0], 1.5);  // the unbiased variance 2.
}

TEST(ReferenceBatchNorm, ABatchWithoutWeightChangesNothing) {
  const BatchNormSpec spec{.c = 1, .dtype = DType::f64};
  const Tensor mean = Tensor::of<double>({1}, {0.25}), variance = Tensor::of<double>({1}, {4});
  run_kernel(*make_bn_running(spec), {Tensor(DType::f64, {3}), mean, variance});
  EXPECT_EQ(mean.values<double>()[0], 0.25);
  EXPECT_EQ(variance.values<double>()[0], 4);
}

TEST(ReferenceBatchNorm, FusedInputGradientIsTheSumOfItsParts) {
  const BatchNormSpec spec{.n = 2, .c = 1, .spatial = 2, .dtype = DType::f64};
  const Tensor dy = Tensor::of<double>({2, 1, 2}, {1, -2, 3, 5}),
               x = Tensor::of<double>({2, 1, 2}, {4, 1, 0, 2});
  const Tensor weight = Tensor::of<float>({2}, {1, 0.5F}), gamma = Tensor::of<double>({1}, {3});
  const Tensor stats = Tensor::of<double>({3}, {6, 19, 3}), dstats = Tensor::of<double>({3}, {0.5, 0.25, 0});
  const Tensor direct(DType::f64, {4}), through(DType::f64, {4}), fused(DType::f64, {4});
  run_kernel(*make_bn_apply_dx(spec), {dy, x, stats, gamma}, {direct});
  run_kernel(*make_bn_stats_dx(spec), {dstats, x, weight}, {through});
  run_kernel(*make_bn_dx(spec), {dy, x, stats, gamma, dstats, weight}, {fused});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(fused.values<double>()[i], direct.values<double>()[i] + through.values<double>()[i]);
  }
}

TEST(ReferenceEmbeddingGradRows, AreUniqueAndAscending) {
  const EmbeddingSpec spec{6, 1, 5, DType::f32};
  const Tensor rows(DType::f32, {5, 1}), ids(DType::i32, {5});
  run_kernel(*make_embedding_grad_rows(spec),
             {Tensor::of<float>({5, 1}, {1, 2, 4, 8, 16}), Tensor::of<std::int32_t>({5}, {4, 0, 4, -1, 6})},
             {rows, ids});
  EXPECT_EQ(elements<std::int32_t>(ids), (std::vector<std::int32_t>{0, 4, -1, -1, -1}));
  EXPECT_EQ(elements<float>(rows), (std::vector<float>{2, 5, 0, 0, 0}));
}

TEST(ReferenceCsrMatmul, IgnoresPaddingAndUnknownColumns) {
  const CsrSpec spec{2, 4, 3, 1, DType::f32};
  const Tensor y(DType::f32, {2, 1});
  run_kernel(*make_csr_matmul(spec),
             {Tensor::of<float>({4}, {1, 2, 3, 9}), Tensor::of<std::int32_t>({4}, {0, 2, 7, 1}),
              Tensor::of<std::int32_t>({3}, {0, 2, 3}), Tensor::of<float>({3, 1}, {1, 10, 100})},
             {y});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{201, 0}));
}

}  // namespace
}  // namespace hocket::reference
