#include "tensor/reference/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/dropout_mask.h"
#include "tensor/reference/run_kernel.h"
#include "tensor/reference/shape.h"

namespace hocket::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ReferenceUnary, GeluIsExact) {
  const Tensor y(DType::f64, {3});
  run_kernel(*make_unary({Unary::gelu, 3, DType::f64}), {Tensor::of<double>({3}, {0, 1, -1})}, {y});
  EXPECT_NEAR(y.values<double>()[1], 0.8413447460685429, 1e-15);
  EXPECT_NEAR(y.values<double>()[2], -0.15865525393145707, 1e-15);
}

TEST(ReferenceBinary, BroadcastsAsNumPyDoes) {
  const Tensor y(DType::f32, {2, 3});
  run_kernel(*make_binary({Binary::sub, {2, 1}, {3}, {2, 3}, DType::f32}),
             {Tensor::of<float>({2, 1}, {10, 20}), Tensor::of<float>({3}, {1, 2, 3})}, {y});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{9, 8, 7, 19, 18, 17}));
}

template <typename To, typename From>
std::vector<To> cast(DType to, const std::vector<From>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const Tensor x = Tensor::of<From>({count}, values);
  const Tensor y(to, {count});
  run_kernel(*make_cast({count, x.dtype(), to}), {x}, {y});
  return elements<To>(y);
}

TEST(ReferenceCast, TruncatesAndSaturatesToWholeNumbers) {
  EXPECT_EQ(cast<std::int32_t>(DType::i32, std::vector<float>{2.9F, -2.9F, 1e20F, -kInfinity, std::nanf("")}),
            (std::vector<std::int32_t>{2, -2, 2147483647, -2147483647 - 1, 0}));
  EXPECT_EQ(cast<std::uint8_t>(DType::u8, std::vector<double>{-1, 255.9, 300}),
            (std::vector<std::uint8_t>{0, 255, 255}));
}

TEST(ReferenceCast, KeepsLargeWholeNumbersExact) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(cast<std::int64_t>(DType::i64, std::vector<std::int64_t>{large})[0], large);
  EXPECT_EQ(cast<double>(DType::f64, std::vector<std::int32_t>{-7})[0], -7);
}

TEST(ReferenceCast, RoundsHalvesToEven) {
  const Tensor x = Tensor::of<float>({2}, {1 + 0x1.0p-8F, 1 + 0x3.0p-8F});
  const Tensor half(DType::bf16, {2}), y(DType::f32, {2});
  run_kernel(*make_cast({2, DType::f32, DType::bf16}), {x}, {half});
  run_kernel(*make_cast({2, DType::bf16, DType::f32}), {half}, {y});
  EXPECT_EQ(elements<float>(y), (std::vector<float>{1, 1 + 0x4.0p-8F}));
}

std::vector<float> drop(const DropoutSpec& spec, const Tensor& x, std::int64_t first_sample) {
  const Tensor y(DType::f32, x.shape());
  run_kernel(*make_dropout(spec), {x, Tensor::of<std::int64_t>({3}, {1, 2, first_sample})}, {y});
  return elements<float>(y);
}

Tensor ones(const Shape& shape) {
  const Tensor tensor(DType::f32, shape);
  for (float& value : tensor.values<float>()) value = 1;
  return tensor;
}

TEST(ReferenceDropout, DropsTheRateAndScalesTheRest) {
  DropoutSpec spec{.n = 100, .spatial = 1000, .rate = 0.3};
  const std::vector<float> y = drop(spec, ones({100, 1000}), 0);
  double sum = 0;
  std::int64_t dropped = 0;
  for (const float value : y) {
    sum += value;
    dropped += value == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / 1e5, 0.3, 0.005);
  EXPECT_NEAR(sum / 1e5, 1, 0.01);
}

TEST(ReferenceDropout, SharesOfABatchDropWhatTheWholeBatchDrops) {
  const std::vector<float> whole = drop({.n = 4, .spatial = 50}, ones({4, 50}), 10);
  const std::vector<float> tail = drop({.n = 2, .spatial = 50}, ones({2, 50}), 12);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 100));
}

TEST(ReferenceDropout, DropsTheSameElementsInEveryLayout) {
  const std::vector<float> plain = drop({.n = 2, .c = 3, .spatial = 8}, ones({2, 3, 8}), 0);
  const std::vector<float> last =
      drop({.n = 2, .c = 3, .spatial = 8, .layout = Layout::channels_last}, ones({2, 8, 3}), 0);
  const Tensor reordered(DType::f32, {2, 3, 8});
  run_kernel(*make_transpose({{2, 8, 3}, {0, 2, 1}, DType::f32}), {Tensor::of<float>({2, 8, 3}, last)},
             {reordered});
  EXPECT_EQ(elements<float>(reordered), plain);
}

TEST(DropoutMask, DependsOnEveryKey) {
  const auto kept = [](std::int64_t seed, std::int64_t stream, std::int64_t step, std::uint64_t base) {
    const DropoutMask mask(seed, stream, step, 0.5);
    std::uint64_t bits = 0;
    for (std::uint64_t i = 0; i < 64; ++i) bits = bits << 1 | (mask.keeps(base + i) ? 1 : 0);
    return bits;
  };
  const std::uint64_t bits = kept(1, 2, 3, 0);
  EXPECT_EQ(bits, kept(1, 2, 3, 0));
  EXPECT_NE(bits, kept(2, 2, 3, 0));
  EXPECT_NE(bits, kept(1, 3, 3, 0));
  EXPECT_NE(bits, kept(1, 2, 4, 0));
  EXPECT_NE(bits, kept(1, 2, 3, 64));
  EXPECT_NE(bits, kept(1, 2, 3, std::uint64_t{1} << 32));
}

TEST(DropoutMask, NeverDropsAtRateZero) {
  const DropoutMask mask(1, 0, 0, 0);
  for (std::uint64_t i = 0; i < 10000; ++i) ASSERT_TRUE(mask.keeps(i));
}

}  // namespace
}  // namespace hocket::reference
