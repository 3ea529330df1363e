#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/elementwise.h"

namespace hocket::kernel {
namespace {

void check_binary(const Shape& a, const Shape& b, const Shape& y) {
  for (const Binary op : {Binary::add, Binary::sub, Binary::mul, Binary::div}) {
    const BinarySpec spec{.op = op, .a = a, .b = b, .y = y};
    expect_same(make_binary(spec), reference::make_binary(spec),
                {random_floats(a.count(), 1), random_floats(b.count(), 2, 0.5, 2)},
                {Operand(DType::f32, y.count())}, 1e-7,
                fmt::format("binary {} of {} and {}", static_cast<int>(op), to_string(a), to_string(b)));
  }
}

TEST(Binary, AgreesWithTheReferenceForEqualShapes) {
  for (const std::int64_t count : {1, 15, 16, 17, 1000}) check_binary({count}, {count}, {count});
  check_binary({3, 5, 7}, {3, 5, 7}, {3, 5, 7});
}

TEST(Binary, AgreesWithTheReferenceForEveryBroadcast) {
  check_binary({}, {4, 5}, {4, 5});
  check_binary({4, 5}, {}, {4, 5});
  check_binary({6, 17}, {17}, {6, 17});
  check_binary({17}, {6, 17}, {6, 17});
  check_binary({6, 17}, {6, 1}, {6, 17});
  check_binary({2, 3, 4, 5}, {1, 3, 1, 1}, {2, 3, 4, 5});
  check_binary({2, 1, 4}, {3, 1}, {2, 3, 4});
  check_binary({1, 1, 1}, {1}, {1, 1, 1});
  check_binary({5, 1}, {1, 6}, {5, 6});
}

TEST(Binary, DoesNotDependOnTheNumberOfThreads) {
  const BinarySpec spec{.op = Binary::add, .a = {300, 70}, .b = {70}, .y = {300, 70}};
  expect_same(with_threads(2, make_binary(spec)), make_binary(spec),
              {random_floats(21000, 1), random_floats(70, 2)}, {Operand(DType::f32, 21000)}, 0, "add");
}

}  // namespace
}  // namespace hocket::kernel
