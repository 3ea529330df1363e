#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/elementwise.h"

namespace hocket::kernel {
namespace {

Operand key(std::int64_t seed, std::int64_t step, std::int64_t first) {
  Operand result(DType::i64, 3);
  const std::int64_t values[] = {seed, step, first};
  std::copy_n(values, 3, result.as<std::int64_t>());
  return result;
}

TEST(Dropout, AgreesWithTheReference) {
  for (const Layout layout : {Layout::plain, Layout::channels_last}) {
    for (const std::int64_t c : {1, 16, 35}) {
      for (const double rate : {0.0, 0.1, 0.5}) {
        const DropoutSpec s{.n = 3, .c = c, .spatial = 6, .rate = rate, .stream = 4, .layout = layout};
        const std::int64_t count = s.n * c * s.spatial;
        for (const std::int64_t first : {std::int64_t{0}, (std::int64_t{1} << 32) / (c * s.spatial) - 1}) {
          expect_same(make_dropout(s), reference::make_dropout(s),
                      {random_floats(count, 1), key(7, 9, first)}, {Operand(DType::f32, count)}, 1e-7,
                      fmt::format("dropout c={} rate={} first={}", c, rate, first));
        }
      }
    }
  }
}

TEST(Dropout, OfAPartAgreesWithTheReference) {
  for (const Layout layout : {Layout::plain, Layout::channels_last}) {
    const DropoutSpec s{
        .n = 3, .c = 20, .spatial = 6, .stream = 4, .layout = layout, .run = 120, .part = 1, .parts = 3};
    expect_same(make_dropout(s), reference::make_dropout(s), {random_floats(360, 1), key(7, 9, 5)},
                {Operand(DType::f32, 360)}, 1e-7, "dropout of a part");
  }
  const DropoutSpec s{.n = 3, .c = 1, .spatial = 120, .stream = 4, .run = 20, .part = 2, .parts = 3};
  expect_same(make_dropout(s), reference::make_dropout(s), {random_floats(360, 1), key(7, 9, 5)},
              {Operand(DType::f32, 360)}, 1e-7, "dropout of a part of rows");
}

}  // namespace
}  // namespace hocket::kernel
