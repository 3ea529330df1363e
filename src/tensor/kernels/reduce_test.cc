#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/oracle.h"
#include "tensor/kernels/shape.h"
#include "tensor/reference/shape.h"

namespace hocket::kernel {
namespace {

void check_reduce(Reduce op, const Shape& x, const std::vector<bool>& reduced) {
  const ReduceSpec spec{.op = op, .x = x, .reduced = reduced};
  std::int64_t outputs = 1;
  for (int axis = 0; axis < x.rank(); ++axis)
    outputs *= reduced[static_cast<std::size_t>(axis)] ? 1 : x[axis];
  expect_same(make_reduce(spec), reference::make_reduce(spec), {random_floats(x.count(), 1)},
              {Operand(DType::f32, outputs)}, 3e-6,
              fmt::format("reduce {} of {}", static_cast<int>(op), to_string(x)));
}

TEST(Reduce, AgreesWithTheReferenceForEveryPattern) {
  for (const Reduce op : {Reduce::sum, Reduce::mean}) {
    for (int axes = 0; axes < 16; ++axes) {
      const std::vector<bool> reduced = {(axes & 1) != 0, (axes & 2) != 0, (axes & 4) != 0, (axes & 8) != 0};
      if (axes == 5) continue;  // Summed, kept, summed, kept: five groups, left to the reference.
      check_reduce(op, {3, 5, 4, 17}, reduced);
    }
    for (const std::int64_t width : {1, 15, 16, 33, 5000}) {
      check_reduce(op, {70, width}, {true, false});
      check_reduce(op, {7, width}, {false, true});
      check_reduce(op, {width}, {true});
    }
  }
}

TEST(Reduce, TakesTheMaximumOfRows) {
  check_reduce(Reduce::max, {5, 33}, {false, true});
  check_reduce(Reduce::max, {100}, {true});
}

TEST(Reduce, DoesNotDependOnTheNumberOfThreads) {
  const ReduceSpec spec{.x = {500, 300}, .reduced = {true, false}};
  expect_same(with_threads(2, make_reduce(spec)), make_reduce(spec), {random_floats(150'000, 1)},
              {Operand(DType::f32, 300)}, 0, "reduce");
}

}  // namespace
}  // namespace hocket::kernel
