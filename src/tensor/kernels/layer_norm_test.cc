#include <gtest/gtest.h>

#include "tensor/kernels/normalisation.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/normalisation.h"

namespace hocket::kernel {
namespace {

TEST(LayerNorm, AgreesWithTheReference) {
  for (const std::int64_t width : {1, 15, 16, 17, 33, 100, 256}) {
    for (const std::int64_t rows : {1, 3, 130}) {
      const RowsSpec s{.rows = rows, .width = width};
      const Operand x = random_floats(rows * width, 1, 1, 3), gamma = random_floats(width, 2);
      const Operand per_row(DType::f32, rows);
      expect_same(make_layer_norm(s), reference::make_layer_norm(s), {x, gamma, random_floats(width, 3)},
                  {x, per_row, per_row}, width == 1 ? 1e-3 : kSumTolerance, "layer_norm");
      expect_same(make_layer_norm_grad(s), reference::make_layer_norm_grad(s),
                  {random_floats(rows * width, 4), x, random_floats(rows, 5, 1, 3),
                   random_floats(rows, 6, 0.5, 2), gamma},
                  {x, gamma, gamma}, kSumTolerance, "layer_norm_grad");
    }
  }
}

TEST(LayerNorm, GradientDoesNotDependOnTheNumberOfThreads) {
  const RowsSpec s{.rows = 200, .width = 48};
  const Operand x = random_floats(200 * 48, 1), row = random_floats(200, 2), column = random_floats(48, 3);
  expect_same(with_threads(2, make_layer_norm_grad(s)), make_layer_norm_grad(s), {x, x, row, row, column},
              {x, column, column}, 0, "layer_norm_grad");
}

}  // namespace
}  // namespace hocket::kernel
