#include "tensor/kernels/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/oracle.h"
#include "tensor/reference/attention.h"

namespace hocket::kernel {
namespace {

// Probabilities as the forward kernel leaves them: zero where masked.
Operand reference_probs(const AttentionSpec& s, const Operand& qkv) {
  const Operand y(DType::f32, s.n * s.t * s.c), probs(DType::f32, s.n * s.heads * s.t * s.t);
  std::byte* in[] = {qkv.data()};
  std::byte* out[] = {y.data(), probs.data()};
  reference::make_attention(s)->run(in, out, nullptr);
  return probs;
}

TEST(Attention, AgreesWithTheReference) {
  for (const std::int64_t t : {1, 7, 16, 33, 70, 130}) {
    for (const std::int64_t width : {5, 16, 40}) {
      for (const bool causal : {false, true}) {
        const AttentionSpec s{.n = 2, .t = t, .c = 3 * width, .heads = 3, .causal = causal};
        const Operand qkv = random_floats(s.n * t * 3 * s.c, 1, -2, 2);
        const Operand y(DType::f32, s.n * t * s.c), probs = random_floats(s.n * s.heads * t * t, 2, 0, 0.1);
        const auto what = fmt::format("attention t={} width={} causal={}", t, width, causal);
        expect_same(make_attention(s), reference::make_attention(s), {qkv}, {y, probs}, kSumTolerance, what);
        expect_same(make_attention_grad(s), reference::make_attention_grad(s),
                    {random_floats(y.count(), 3), qkv, reference_probs(s, qkv)}, {qkv}, kSumTolerance,
                    what + " gradient");
      }
    }
  }
}

TEST(Attention, DoesNotDependOnTheNumberOfThreads) {
  const AttentionSpec s{.n = 3, .t = 20, .c = 32, .heads = 2};
  const Operand qkv = random_floats(s.n * s.t * 3 * s.c, 1), y = random_floats(s.n * s.t * s.c, 2);
  const Operand probs = random_floats(s.n * s.heads * s.t * s.t, 3);
  expect_same(with_threads(2, make_attention(s)), make_attention(s), {qkv}, {y, probs}, 0, "attention");
  expect_same(with_threads(2, make_attention_grad(s)), make_attention_grad(s), {y, qkv, probs}, {qkv}, 0,
              "gradient");
}

}  // namespace
}  // namespace hocket::kernel
