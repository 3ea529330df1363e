#include "tensor/kernels/strassen_matmul.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "hwy/targets.h"
#include "tensor/kernels/in_parts.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/oracle.h"
#include "tensor/reference/matrix.h"

namespace hocket::kernel {
namespace {

constexpr double kStrassenTolerance = 6e-6;  // Of a product, of which k make an element.

bool is_used() { return (hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3)) != 0; }

std::vector<Operand> operands(const MatmulSpec& s) {
  std::vector<Operand> in = {random_floats(s.m * s.k, 1), random_floats(s.k * s.n, 2)};
  if (s.has_bias) in.push_back(random_floats(s.n, 3));
  return in;
}

// Both ways to multiply: in pairs is another where vectors are of 512 bits.
void check_strassen(const MatmulSpec& s) {
  if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
  for (const bool in_pairs : {false, true}) {
    const auto kernel = make_strassen_matmul(s, false, in_pairs);
    const std::string what = fmt::format("{}x{}x{} ta={} tb={} bias={} in_pairs={}", s.m, s.n, s.k, s.ta,
                                         s.tb, s.has_bias, in_pairs);
    ASSERT_NE(kernel, nullptr) << what;
    expect_same(kernel, reference::make_matmul(s), operands(s), {Operand(DType::f32, s.m * s.n)},
                kStrassenTolerance * std::sqrt(s.k), what);
  }
}

// a·b, a being multiplied by `left` and b by `right`.
Operand product_in_pairs(const MatmulSpec& s, float left, float right) {
  const Operand a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2), y(DType::f32, s.m * s.n);
  for (std::int64_t i = 0; i < a.count(); ++i) a.as<float>()[i] *= left;
  for (std::int64_t i = 0; i < b.count(); ++i) b.as<float>()[i] *= right;
  const auto kernel = make_strassen_matmul(s, false, true);
  const Operand scratch(DType::u8, static_cast<std::int64_t>(kernel->scratch_bytes()));
  kernel->run(std::array{a.data(), b.data()}, std::array{y.data()}, scratch.data());
  return y;
}

TEST(StrassenMatmul, AgreesWithTheReferenceForEveryTransposeAndEpilogue) {
  for (const bool is_flat : {false, true}) {
    for (const int flags : {0, 1, 2, 3, 4, 7, 9, 14, 15}) {
      check_strassen({.m = is_flat ? 256 : 512,
                      .n = is_flat ? 512 : 256,
                      .k = 256,
                      .ta = (flags & 1) != 0,
                      .tb = (flags & 2) != 0,
                      .has_bias = (flags & 4) != 0,
                      .activation = (flags & 8) != 0 ? Activation::relu : Activation::none});
    }
  }
}

TEST(StrassenMatmul, AgreesWithTheReferenceWhereRowsColumnsAndDepthAreUneven) {
  for (const int flags : {0, 1, 2, 3}) {
    const bool ta = (flags & 1) != 0, tb = (flags & 2) != 0;
    check_strassen(
        {.m = 331, .n = 261, .k = 452, .ta = ta, .tb = tb, .has_bias = true, .activation = Activation::relu});
    check_strassen({.m = 269, .n = 579, .k = 292, .ta = ta, .tb = tb, .has_bias = true});
    check_strassen({.m = 600, .n = 259, .k = 340, .ta = ta, .tb = tb});
  }
}

TEST(StrassenMatmul, AgreesWithTheReferenceForTheFewRowsOfABatch) {
  for (const std::int64_t m : {64, 128, 192, 197}) {
    for (const bool tb : {false, true}) {
      check_strassen(
          {.m = m, .n = 512, .k = 784, .tb = tb, .has_bias = true, .activation = Activation::relu});
      check_strassen({.m = 512, .n = m, .k = 256, .ta = true, .tb = tb});
      check_strassen({.m = 512, .n = 256 + m, .k = 128, .ta = true, .tb = tb});
    }
  }
}

TEST(StrassenMatmul, WorkersWhoShareABatchRoundAsOne) {
  if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
  for (const auto& [rows, share] : {std::pair{128, 64}, {192, 64}, {256, 128}, {1280, 640}}) {
    for (const int flags : {0, 1, 2, 3}) {
      const bool in_pairs = (flags & 2) != 0;
      const MatmulSpec s{.m = rows, .n = 512, .k = 260, .tb = (flags & 1) != 0};
      MatmulSpec part = s;
      part.m = share;
      expect_same(std::make_unique<InShares>(s, share, make_strassen_matmul(part, false, in_pairs)),
                  make_strassen_matmul(s, false, in_pairs), operands(s), {Operand(DType::f32, s.m * s.n)}, 0,
                  fmt::format("{} rows in shares of {}, in_pairs={}", rows, share, in_pairs));
    }
  }
}

TEST(StrassenMatmul, PartsMakeTheSameBits) {
  if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
  const MatmulSpec specs[] = {
      {.m = 256, .n = 512, .k = 784, .tb = true, .has_bias = true, .activation = Activation::relu},
      {.m = 197, .n = 512, .k = 512, .tb = true, .has_bias = true},
      {.m = 512, .n = 784, .k = 256, .ta = true},
      {.m = 512, .n = 260, .k = 388, .ta = true}};
  for (const MatmulSpec& s : specs) {
    for (const bool in_pairs : {false, true}) {
      for (const std::int64_t units : {1, 3, 8}) {
        expect_same(with_threads(units == 3 ? 2 : 1, std::make_unique<InParts>(
                                                         s, make_strassen_matmul(s, false, in_pairs), units)),
                    make_strassen_matmul(s, false, in_pairs), operands(s), {Operand(DType::f32, s.m * s.n)},
                    0, fmt::format("{}x{}x{}, {} units a part, in_pairs={}", s.m, s.n, s.k, units, in_pairs));
      }
    }
  }
}

TEST(StrassenMatmul, RunsInPartsOnlyWhereTheyAreRowsOfTheWeight) {
  const auto unit = [](const MatmulSpec& s) { return make_strassen_matmul(s, false)->part_unit(); };
  if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
  EXPECT_EQ(unit({.m = 256, .n = 512, .k = 784, .tb = true}), 64 * 784);
  EXPECT_EQ(unit({.m = 512, .n = 784, .k = 256, .ta = true}), 64 * 784);
  EXPECT_EQ(unit({.m = 256, .n = 512, .k = 784}), 0);                 // Not rows of b.
  EXPECT_EQ(unit({.m = 512, .n = 512, .k = 784, .tb = true}), 0);     // Made by rows of the batch.
  EXPECT_EQ(unit({.m = 256, .n = 520, .k = 784, .tb = true}), 0);     // Not all in tiles.
  EXPECT_EQ(unit({.m = 1024, .n = 1024, .k = 4096, .ta = true}), 0);  // Too much to keep.
}

TEST(StrassenMatmul, PairsRoundTheSameWhateverTheSizeOfTheOperands) {
  if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
  for (const std::int64_t m : {128, 512}) {
    const MatmulSpec s{.m = m, .n = 320, .k = 272, .tb = true};
    const Operand plain = product_in_pairs(s, 1, 1);
    for (const auto& [left, right] : {std::pair{-70, 60}, {100, -110}, {-90, 0}, {0, 100}}) {
      const Operand scaled = product_in_pairs(s, std::ldexp(1.0F, left), std::ldexp(1.0F, right));
      for (std::int64_t i = 0; i < plain.count(); ++i) {
        ASSERT_EQ(scaled.as<float>()[i], std::ldexp(plain.as<float>()[i], left + right))
            << i << " of " << m << " rows, " << left << ", " << right;
      }
    }
  }
}

TEST(StrassenMatmul, PairsOfZerosAreZero) {
  if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
  const Operand y = product_in_pairs({.m = 256, .n = 256, .k = 256}, 0, 1);
  for (std::int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.as<float>()[i], 0.0F);
}

TEST(StrassenMatmul, AgreesWithTheReferenceWhereColumnsGoInSlices) {
  check_strassen({.m = 640, .n = 1162, .k = 256, .has_bias = true, .activation = Activation::relu});
}

TEST(StrassenMatmul, GradientOfTheWeightAgreesWithTheReference) {
  for (const bool tb : {false, true}) {
    const MatmulSpec s{.m = 300, .n = 512, .k = 260, .tb = tb};
    expect_same(make_matmul_dw(s), reference::make_matmul_dw(s),
                {random_floats(s.m * s.k, 1), random_floats(s.m * s.n, 2)}, {Operand(DType::f32, s.k * s.n)},
                kStrassenTolerance * std::sqrt(s.m), tb ? "dw of bᵀ" : "dw");
  }
}

TEST(StrassenMatmul, DoesNotDependOnTheNumberOfThreads) {
  for (const std::int64_t m : {260, 600}) {
    const MatmulSpec s{.m = m, .n = 520, .k = 520, .tb = true, .has_bias = true};
    if (!is_used()) GTEST_SKIP() << "no AVX2 here: all products are oneDNN's";
    for (const bool in_pairs : {false, true}) {
      expect_same(with_threads(2, make_strassen_matmul(s, false, in_pairs)),
                  make_strassen_matmul(s, false, in_pairs), operands(s), {Operand(DType::f32, s.m * s.n)}, 0,
                  "threads");
    }
  }
}

TEST(StrassenMatmul, LeavesOutProductsForWhichItDoesNotPay) {
  EXPECT_EQ(make_strassen_matmul({.m = 32, .n = 4096, .k = 4096}, false), nullptr);
  EXPECT_EQ(make_strassen_matmul({.m = 100, .n = 4096, .k = 4096}, false), nullptr);
  EXPECT_EQ(make_strassen_matmul({.m = 128, .n = 128, .k = 4096}, false), nullptr);
  EXPECT_EQ(make_strassen_matmul({.m = 128, .n = 4096, .k = 128}, false), nullptr);
  EXPECT_EQ(make_strassen_matmul({.m = 4096, .n = 4096, .k = 64}, false), nullptr);
  EXPECT_EQ(make_strassen_matmul({.m = 4096, .n = 256, .k = 257}, false), nullptr);
  EXPECT_EQ(make_strassen_matmul({.batch = 2, .m = 4096, .n = 256, .k = 256}, false), nullptr);
}

}  // namespace
}  // namespace hocket::kernel
