#include "tensor/kernels/paired_matmul.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensor/kernels/in_parts.h"
#include "tensor/kernels/oracle.h"
#include "tensor/kernels/threads.h"
#include "tensor/reference/matrix.h"

namespace hocket::kernel {
namespace {

constexpr double kPairedTolerance = 2e-6;  // Of a product, of which k make an element.

std::vector<Operand> paired_operands(const MatmulSpec& s) {
  std::vector<Operand> in = {random_floats(s.m * s.k, 1), random_floats(s.k * s.n, 2)};
  if (s.has_bias) in.push_back(random_floats(s.n, 3));
  return in;
}

void check_paired(const MatmulSpec& s) {
  const auto kernel = make_paired_matmul(s, false);
  const std::string what = fmt::format("{}x{}x{} ta={} tb={} bias={}", s.m, s.n, s.k, s.ta, s.tb, s.has_bias);
  ASSERT_NE(kernel, nullptr) << what;
  expect_same(kernel, reference::make_matmul(s), paired_operands(s), {Operand(DType::f32, s.m * s.n)},
              kPairedTolerance * std::sqrt(s.k), what);
}

Operand paired_product(const MatmulSpec& s, const Operand& a, const Operand& b) {
  Operand y(DType::f32, s.m * s.n);
  const auto kernel = make_paired_matmul(s, false);
  const Operand scratch(DType::u8, static_cast<std::int64_t>(kernel->scratch_bytes()));
  kernel->run(std::array{a.data(), b.data()}, std::array{y.data()}, scratch.data());
  return y;
}

void scale(const Operand& x, std::int64_t begin, std::int64_t end, float by) {
  for (std::int64_t i = begin; i < end; ++i) x.as<float>()[i] *= by;
}

TEST(PairedMatmul, AgreesWithTheReferenceForEveryTransposeAndEpilogue) {
  for (const auto& [m, n] : {std::pair{256, 128}, {128, 256}, {67, 131}, {197, 65}}) {
    for (const int flags : {0, 1, 2, 3, 4, 7, 9, 14, 15}) {
      for (const int k : {64, 128, 197}) {
        check_paired({.m = m,
                      .n = n,
                      .k = k,
                      .ta = (flags & 1) != 0,
                      .tb = (flags & 2) != 0,
                      .has_bias = (flags & 4) != 0,
                      .activation = (flags & 8) != 0 ? Activation::relu : Activation::none});
      }
    }
  }
}

TEST(PairedMatmul, AgreesWithTheReferenceWhereTermsGoInSlices) {
  for (const int flags : {0, 1, 2, 3}) {
    check_paired({.m = 70,
                  .n = 82,
                  .k = 4099,
                  .ta = (flags & 1) != 0,
                  .tb = (flags & 2) != 0,
                  .has_bias = true,
                  .activation = Activation::relu});
  }
}

TEST(PairedMatmul, TakesOperandsTheOtherWayRound) {
  const MatmulSpec s{.m = 80, .n = 96, .k = 77, .ta = true};
  const Operand a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2);
  const auto plain = make_paired_matmul(s, false), swapped = make_paired_matmul(s, true);
  const Operand scratch(DType::u8, static_cast<std::int64_t>(plain->scratch_bytes()));
  const Operand y(DType::f32, s.m * s.n), z(DType::f32, s.m * s.n);
  plain->run(std::array{a.data(), b.data()}, std::array{y.data()}, scratch.data());
  swapped->run(std::array{b.data(), a.data()}, std::array{z.data()}, scratch.data());
  for (std::int64_t i = 0; i < y.count(); ++i) ASSERT_EQ(y.as<float>()[i], z.as<float>()[i]) << i;
}

TEST(PairedMatmul, WorkersWhoShareABatchRoundAsOne) {
  for (const auto& [rows, share] : {std::pair{128, 64}, {201, 67}, {640, 320}}) {
    for (const bool tb : {false, true}) {
      const MatmulSpec s{.m = rows, .n = 112, .k = 2200, .tb = tb};
      MatmulSpec part = s;
      part.m = share;
      expect_same(std::make_unique<InShares>(s, share, make_paired_matmul(part, false)),
                  make_paired_matmul(s, false), paired_operands(s), {Operand(DType::f32, s.m * s.n)}, 0,
                  fmt::format("{} rows in shares of {}", rows, share));
    }
  }
}

std::unique_ptr<Kernel> made_for(int threads, const MatmulSpec& s) {
  set_num_threads(threads);
  auto kernel = make_paired_matmul(s, false);
  set_num_threads(1);
  return kernel;
}

TEST(PairedMatmul, PartsAndThreadsMakeTheSameBits) {
  const MatmulSpec specs[] = {
      {.m = 128, .n = 512, .k = 784, .tb = true, .has_bias = true, .activation = Activation::relu},
      {.m = 97, .n = 500, .k = 2500, .tb = true, .has_bias = true},
      {.m = 512, .n = 784, .k = 128, .ta = true},
      {.m = 500, .n = 260, .k = 388, .ta = true}};
  for (const MatmulSpec& s : specs) {
    for (const int threads : {1, 2}) {
      expect_same(with_threads(threads, made_for(threads, s)), make_paired_matmul(s, false),
                  paired_operands(s), {Operand(DType::f32, s.m * s.n)}, 0,
                  fmt::format("{} threads", threads));
      for (const std::int64_t units : {1, 3, 8}) {
        expect_same(with_threads(threads, std::make_unique<InParts>(s, made_for(threads, s), units)),
                    make_paired_matmul(s, false), paired_operands(s), {Operand(DType::f32, s.m * s.n)}, 0,
                    fmt::format("{}x{}x{}, {} threads, {} units a part", s.m, s.n, s.k, threads, units));
      }
    }
  }
}

// Which fetches lines of memory on the way: more of them than the blocks of the product, fewer, none.
TEST(PairedMatmul, FetchingOnTheWayChangesNothing) {
  class Fetching final : public Kernel {
   public:
    Fetching(const MatmulSpec& s, std::vector<std::span<std::byte>> lines)
        : lines_(std::move(lines)), kernel_(make_paired_matmul(s, false)) {}
    void run(Buffers in, Buffers out, std::byte* scratch) const override {
      kernel_->run_and_fetch(in, out, scratch, lines_);
    }
    std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }

   private:
    std::vector<std::span<std::byte>> lines_;
    std::unique_ptr<Kernel> kernel_;
  };
  const MatmulSpec s{.m = 80, .n = 96, .k = 77, .ta = true};
  std::vector<std::byte> memory(100'000);
  const std::span<std::byte> all = memory;
  const std::vector<std::vector<std::span<std::byte>>> cases = {
      {}, {{}}, {all}, {all.first(640)}, {all.first(10), {}, all.subspan(64, 1000), all.last(1)}};
  for (const auto& lines : cases) {
    expect_same(std::make_unique<Fetching>(s, lines), make_paired_matmul(s, false), paired_operands(s),
                {Operand(DType::f32, s.m * s.n)}, 0, fmt::format("{} ranges", lines.size()));
  }
  for (const std::byte byte : memory) ASSERT_EQ(byte, std::byte{0});
}

TEST(PairedMatmul, RunsInPartsOnlyWhereTheyAreRowsOfTheWeight) {
  const auto unit = [](const MatmulSpec& s) { return make_paired_matmul(s, false)->part_unit(); };
  EXPECT_EQ(unit({.m = 256, .n = 512, .k = 784, .tb = true}), 64 * 784);
  EXPECT_EQ(unit({.m = 512, .n = 784, .k = 256, .ta = true}), 64 * 784);
  EXPECT_EQ(unit({.m = 256, .n = 512, .k = 784}), 0);                // Not rows of b.
  EXPECT_EQ(unit({.m = 1024, .n = 512, .k = 784, .tb = true}), 0);   // Made by rows of the batch.
  EXPECT_EQ(unit({.m = 512, .n = 1024, .k = 4096, .ta = true}), 0);  // Too much to keep.
}

TEST(PairedMatmul, EachRowAndColumnRoundsTheSameWhateverItsSizeAndThatOfOthers) {
  const MatmulSpec s{.m = 96, .n = 80, .k = 272, .tb = true};
  const Operand a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2);
  const Operand plain = paired_product(s, a, b);
  for (std::int64_t row = 0; row < s.m; ++row) {
    scale(a, row * s.k, (row + 1) * s.k, std::ldexp(1.0F, static_cast<int>(row % 91) - 40));
  }
  for (std::int64_t column = 0; column < s.n; ++column)
    scale(b, column * s.k, (column + 1) * s.k, std::ldexp(1.0F, 50 - static_cast<int>(column)));
  const Operand scaled = paired_product(s, a, b);
  for (std::int64_t row = 0; row < s.m; ++row) {
    for (std::int64_t column = 0; column < s.n; ++column) {
      const std::int64_t i = row * s.n + column;
      const int power = static_cast<int>(row % 91) - 40 + 50 - static_cast<int>(column);
      ASSERT_EQ(scaled.as<float>()[i], std::ldexp(plain.as<float>()[i], power)) << row << ", " << column;
    }
  }
}

TEST(PairedMatmul, ARowOfZerosIsZeroAndOneOfNaNStaysAlone) {
  const MatmulSpec s{.m = 96, .n = 80, .k = 100, .tb = true};
  const Operand a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2);
  const Operand plain = paired_product(s, a, b);
  scale(a, 5 * s.k, 6 * s.k, 0);
  scale(a, 7 * s.k + 3, 7 * s.k + 4, std::nanf(""));
  const Operand y = paired_product(s, a, b);
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const float value = y.as<float>()[i];
    if (i / s.n == 5) {
      ASSERT_EQ(value, 0.0F);
    } else if (i / s.n == 7) {
      ASSERT_TRUE(std::isnan(value));
    } else {
      ASSERT_EQ(value, plain.as<float>()[i]) << i;
    }
  }
}

TEST(PairedMatmul, LeavesOutProductsForWhichItDoesNotPay) {
  EXPECT_EQ(make_paired_matmul({.m = 32, .n = 4096, .k = 4096}, false), nullptr);
  EXPECT_EQ(make_paired_matmul({.m = 4096, .n = 48, .k = 4096}, false), nullptr);
  EXPECT_EQ(make_paired_matmul({.m = 4096, .n = 4096, .k = 48}, false), nullptr);
  EXPECT_EQ(make_paired_matmul({.batch = 2, .m = 256, .n = 256, .k = 256}, false), nullptr);
}

}  // namespace
}  // namespace hocket::kernel
