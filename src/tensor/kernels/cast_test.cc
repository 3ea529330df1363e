#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/elementwise.h"

namespace hocket::kernel {
namespace {

Operand cast_by_reference(const Operand& x, DType to) {
  Operand y(to, x.count());
  std::byte* in[] = {x.data()};
  std::byte* out[] = {y.data()};
  reference::make_cast({x.count(), x.dtype(), to})->run(in, out, nullptr);
  return y;
}

void check_cast(const Operand& x, DType to) {
  const CastSpec spec{x.count(), x.dtype(), to};
  expect_same(make_cast(spec), reference::make_cast(spec), {x}, {Operand(to, x.count())}, 0,
              fmt::format("cast {} to {}", name_of(x.dtype()), name_of(to)));
}

TEST(Cast, AgreesWithTheReferenceBitForBit) {
  for (const std::int64_t count : {1, 15, 16, 17, 1000}) {
    for (const double range : {1e-7, 1.0, 1e6}) {
      const Operand x = random_floats(count, 1, -range, range);
      for (const DType narrow : {DType::bf16, DType::f16}) {
        check_cast(x, narrow);
        check_cast(cast_by_reference(x, narrow), DType::f32);
      }
      check_cast(x, DType::f32);
    }
    check_cast(random_ints(count, 1, -1000, 1000), DType::f32);
    check_cast(cast_by_reference(random_ints(count, 2, 0, 256), DType::u8), DType::f32);
  }
}

TEST(Cast, KeepsTiesInfinityAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Operand x =
      floats({kInfinity, -kInfinity, std::nanf(""), 1.00390625F, 1.01171875F, 65519, 65520, -0.0F});
  for (const DType narrow : {DType::bf16, DType::f16}) check_cast(x, narrow);
}

}  // namespace
}  // namespace hocket::kernel
