#include "tensor/kernels/sparse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/oracle.h"
#include "tensor/reference/sparse.h"

namespace hocket::kernel {
namespace {

// Twelve rows of zero to four entries among 40, the rest of which is padding.
struct Csr {
  static constexpr std::int64_t kRows = 12, kCapacity = 40;

  explicit Csr(std::int64_t features)
      : values(random_floats(kCapacity, 1)),
        columns(random_ints(kCapacity, 2, 0, features)),
        offsets(ints(starts())) {}

  static std::vector<std::int32_t> starts() {
    std::vector<std::int32_t> result = {0};
    for (int i = 0; i < kRows; ++i) result.push_back(result.back() + i % 5);
    return result;
  }

  Operand values, columns, offsets;
};

TEST(Csr, AgreesWithTheReference) {
  for (const std::int64_t k : {1, 3, 16, 17}) {
    for (const std::int64_t features : {5, 30, 5000}) {
      const CsrSpec s{.n = Csr::kRows, .capacity = Csr::kCapacity, .features = features, .k = k};
      const Csr x(features);
      const Operand dy = random_floats(s.n * k, 4);
      const auto what = fmt::format("csr k={} features={}", k, features);
      expect_same(make_csr_matmul(s), reference::make_csr_matmul(s),
                  {x.values, x.columns, x.offsets, random_floats(features * k, 3)}, {dy}, kTolerance, what);
      expect_same(make_csr_matmul_dw(s), reference::make_csr_matmul_dw(s),
                  {dy, x.values, x.columns, x.offsets}, {Operand(DType::f32, features * k)}, kTolerance,
                  what + " dw");
      expect_same(make_csr_matmul_dw_rows(s), reference::make_csr_matmul_dw_rows(s),
                  {dy, x.values, x.columns, x.offsets},
                  {Operand(DType::f32, s.capacity * k), Operand(DType::i32, s.capacity)}, kTolerance,
                  what + " dw_rows");
    }
  }
}

TEST(Embedding, AgreesWithTheReference) {
  for (const std::int64_t width : {1, 16, 33}) {
    for (const std::int64_t vocabulary : {4, 3000}) {
      const EmbeddingSpec s{.vocabulary = vocabulary, .width = width, .count = 50};
      const Operand ids = random_ints(s.count, 1, -1, vocabulary + 1);  // Some are outside the table.
      const Operand dy = random_floats(s.count * width, 2);
      expect_same(make_embedding(s), reference::make_embedding(s),
                  {random_floats(vocabulary * width, 3), ids}, {dy}, 0, "embedding");
      expect_same(make_embedding_grad(s), reference::make_embedding_grad(s), {dy, ids},
                  {Operand(DType::f32, vocabulary * width)}, kTolerance, "embedding_grad");
      expect_same(make_embedding_grad_rows(s), reference::make_embedding_grad_rows(s), {dy, ids},
                  {Operand(DType::f32, s.count * width), Operand(DType::i32, s.count)}, kTolerance,
                  "embedding_grad_rows");
    }
  }
}

}  // namespace
}  // namespace hocket::kernel
