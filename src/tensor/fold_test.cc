#include "tensor/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace hocket {
namespace {

// What element i of source s holds, the same small integers in every dtype.
template <typename T>
T element(std::size_t s, std::size_t i) {
  const int value = static_cast<int>((i * 7 + s * 3) % 5) + 1;
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

double expected(Fold operation, std::size_t sources, std::size_t i) {
  double value = element<double>(0, i);
  for (std::size_t s = 1; s < sources; ++s) {
    const auto next = element<double>(s, i);
    switch (operation) {
      case Fold::sum: value += next; break;
      case Fold::product: value *= next; break;
      case Fold::max: value = std::max(value, next); break;
      case Fold::min: value = std::min(value, next); break;
    }
  }
  return value;
}

template <typename T>
void expect_folded_in_place(Fold operation, std::size_t sources, std::size_t count) {
  std::vector<std::vector<T>> buffers(sources, std::vector<T>(count + 1));
  std::vector<std::byte*> places;
  for (std::size_t s = 0; s < sources; ++s) {
    for (std::size_t i = 0; i <= count; ++i) buffers[s][i] = element<T>(s, i);
    places.push_back(reinterpret_cast<std::byte*>(buffers[s].data()));
  }
  const std::vector<const std::byte*> reads(places.begin(), places.end());
  const DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8};
  const DType* dtype = std::find_if(std::begin(dtypes), std::end(dtypes), [](DType d) {
    return visit_dtype(d, []<typename U>(U) { return std::is_same_v<U, T>; });
  });
  fold(operation, *dtype, reads, places, count);
  for (std::size_t s = 0; s < sources; ++s) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(static_cast<double>(static_cast<float>(buffers[s][i])), expected(operation, sources, i))
          << s << " " << i;
    }
    const T after = element<T>(s, count);
    ASSERT_EQ(std::memcmp(&buffers[s][count], &after, sizeof(T)), 0);  // Nothing past the end is touched.
  }
}

template <typename T>
class FoldOf : public testing::Test {};
using Types = testing::Types<float, double, BFloat16, Float16, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(FoldOf, Types);

TYPED_TEST(FoldOf, EveryOperationReachesEveryDestination) {
  for (const Fold operation : {Fold::sum, Fold::product, Fold::max, Fold::min}) {
    for (const std::size_t sources : {1, 2, 3}) {
      for (const std::size_t count : {0, 1, 15, 64, 1023, 1025, 5000}) {
        expect_folded_in_place<TypeParam>(operation, sources, count);
      }
    }
  }
}

TEST(Fold, AddsFromLeftToRight) {
  const float big = 1e8F, one = 1, minus = -1e8F;
  float out = 0;
  const auto bytes = [](const float& x) { return reinterpret_cast<const std::byte*>(&x); };
  const std::byte* left[] = {bytes(big), bytes(one), bytes(minus)};
  const std::byte* right[] = {bytes(big), bytes(minus), bytes(one)};
  std::byte* const outs[] = {reinterpret_cast<std::byte*>(&out)};
  fold(Fold::sum, DType::f32, left, outs, 1);
  EXPECT_EQ(out, 0);  // The 1 is lost beside 1e8.
  fold(Fold::sum, DType::f32, right, outs, 1);
  EXPECT_EQ(out, 1);
}

TEST(Divide, RoundsIntegersTowardsZero) {
  std::int32_t values[] = {-7, 7, 9};
  divide(DType::i32, reinterpret_cast<std::byte*>(values), 3, 3);
  EXPECT_EQ(values[0], -2);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[2], 3);
}

}  // namespace
}  // namespace hocket
