#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/in_parts.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/matrix.h"

namespace hocket::kernel {
namespace {

Operand as_input(const MatmulSpec& spec, Operand operand) {
  return spec.input_dtype == DType::bf16 ? to_bf16(operand) : operand;
}

std::vector<Operand> matmul_operands(const MatmulSpec& spec) {
  std::vector<Operand> in = {as_input(spec, random_floats(spec.batch * spec.m * spec.k, 1)),
                             as_input(spec, random_floats(spec.batch * spec.k * spec.n, 2))};
  if (spec.has_bias) in.push_back(random_floats(spec.n, 3));
  return in;
}

void check_matmul(const MatmulSpec& spec, double tolerance = kSumTolerance) {
  const auto what = fmt::format("{}x{}x{}x{} ta={} tb={} bias={}", spec.batch, spec.m, spec.n, spec.k,
                                spec.ta, spec.tb, spec.has_bias);
  expect_same(make_matmul(spec), reference::make_matmul(spec), matmul_operands(spec),
              {Operand(DType::f32, spec.batch * spec.m * spec.n)}, tolerance, what);
}

TEST(Matmul, AgreesWithTheReferenceForEveryTransposeAndEpilogue) {
  for (const std::int64_t m : {1, 15, 33}) {
    for (const std::int64_t n : {1, 16, 17}) {
      for (const int flags : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
        check_matmul({.batch = 1 + 2 * (flags & 1),
                      .m = m,
                      .n = n,
                      .k = 19,
                      .ta = (flags & 1) != 0,
                      .tb = (flags & 2) != 0,
                      .has_bias = (flags & 4) != 0,
                      .activation = (flags & 8) != 0 ? Activation::relu : Activation::none});
      }
    }
  }
}

TEST(Matmul, AgreesWithTheReferenceWhereItIsCutIntoTiles) {
  check_matmul({.m = 700, .n = 33, .k = 65, .has_bias = true, .activation = Activation::relu});
  check_matmul({.m = 65, .n = 777, .k = 65, .tb = true, .has_bias = true, .activation = Activation::relu});
  check_matmul({.m = 600, .n = 550, .k = 20, .ta = true});
  check_matmul({.m = 30, .n = 40, .k = 1000, .ta = true, .has_bias = true});
}

TEST(Matmul, AgreesWithTheReferenceWhereAnOperandIsTransposedFirst) {
  for (const bool has_bias : {false, true}) {
    const Activation activation = has_bias ? Activation::relu : Activation::none;
    check_matmul({.m = 301, .n = 45, .k = 1100, .tb = true, .has_bias = has_bias, .activation = activation},
                 4 * kSumTolerance);
    check_matmul({.m = 45, .n = 301, .k = 70, .tb = true, .has_bias = has_bias, .activation = activation});
    check_matmul({.m = 64, .n = 64, .k = 64, .tb = true, .has_bias = has_bias, .activation = activation});
  }
}

TEST(Matmul, AgreesWithTheReferenceWhereRowsOfBArePagesApart) {
  for (const bool has_bias : {false, true}) {
    check_matmul({.m = 1030,
                  .n = 1024,
                  .k = has_bias ? 70 : 1100,
                  .has_bias = has_bias,
                  .activation = has_bias ? Activation::relu : Activation::none},
                 4 * kSumTolerance);
  }
}

// Of a few rows of a batch: where Strassen's products pay, those of small layers are plain.
TEST(Matmul, PartsMakeTheSameBits) {
  const MatmulSpec specs[] = {
      {.m = 32, .n = 200, .k = 70, .tb = true, .has_bias = true, .activation = Activation::relu},
      {.m = 128, .n = 512, .k = 784, .tb = true, .has_bias = true},
      {.m = 200, .n = 33, .k = 12, .ta = true},
      {.m = 512, .n = 784, .k = 128, .ta = true}};
  for (const MatmulSpec& s : specs) {
    for (const std::int64_t units : {1, 3}) {
      expect_same(with_threads(units == 3 ? 2 : 1, std::make_unique<InParts>(s, make_matmul(s), units)),
                  make_matmul(s), matmul_operands(s), {Operand(DType::f32, s.m * s.n)}, 0,
                  fmt::format("{}x{}x{}, {} units a part", s.m, s.n, s.k, units));
    }
  }
}

TEST(Matmul, TakesBf16) {
  for (const bool tb : {false, true}) {
    check_matmul({.m = 33,
                  .n = 17,
                  .k = 40,
                  .tb = tb,
                  .has_bias = true,
                  .activation = Activation::relu,
                  .input_dtype = DType::bf16});
  }
  check_matmul({.batch = 3, .m = 7, .n = 16, .k = 32, .input_dtype = DType::bf16});
}

TEST(Matmul, GradientOfTheWeightAgreesWithTheReference) {
  for (const DType input : {DType::f32, DType::bf16}) {
    for (const bool tb : {false, true}) {
      const MatmulSpec spec{.m = 37, .n = 18, .k = 33, .tb = tb, .input_dtype = input};
      expect_same(make_matmul_dw(spec), reference::make_matmul_dw(spec),
                  {as_input(spec, random_floats(spec.m * spec.k, 1)),
                   as_input(spec, random_floats(spec.m * spec.n, 2))},
                  {Operand(DType::f32, spec.k * spec.n)}, kSumTolerance, "matmul_dw");
    }
  }
}

TEST(Matmul, DoesNotDependOnTheNumberOfThreads) {
  for (const bool tb : {false, true}) {
    for (const std::int64_t n : {70, 1100}) {
      const MatmulSpec spec{.m = 1030, .n = n, .k = 300, .tb = tb, .has_bias = true};
      expect_same(with_threads(2, make_matmul(spec)), make_matmul(spec), matmul_operands(spec),
                  {Operand(DType::f32, spec.m * spec.n)}, 0, "matmul");
    }
  }
}

TEST(Matmul, LeavesF64ToTheReference) {
  EXPECT_EQ(make_matmul({.m = 2, .n = 2, .k = 2, .dtype = DType::f64, .input_dtype = DType::f64}), nullptr);
}

}  // namespace
}  // namespace hocket::kernel
