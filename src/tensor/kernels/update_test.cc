#include "tensor/kernels/update.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tensor/kernels/oracle.h"
#include "tensor/reference/update.h"

namespace hocket::kernel {
namespace {

constexpr UpdateRule kRules[] = {UpdateRule::sgd,     UpdateRule::momentum, UpdateRule::nesterov,
                                 UpdateRule::adagrad, UpdateRule::adam,     UpdateRule::adamw};

std::vector<Operand> update_operands(const UpdateSpec& spec, std::vector<Operand> gradient) {
  std::vector<Operand> in = {random_floats(spec.count, 1)};
  for (const Operand& operand : gradient) in.push_back(operand);
  in.push_back(doubles({0.05, 0.19, 0.002, 3}));
  for (int slot = 0; slot < spec.slots(); ++slot) in.push_back(random_floats(spec.count, 5, 0, 1));
  if (spec.has_scale) in.push_back(floats({0.5F}));
  return in;
}

TEST(Update, AgreesWithTheReferenceForEveryRule) {
  for (const UpdateRule rule : kRules) {
    for (const std::int64_t count : {1, 15, 16, 17, 33, 1000}) {
      for (const bool has_scale : {false, true}) {
        const UpdateSpec spec{.rule = rule, .count = count, .decay = 0.01, .has_scale = has_scale};
        expect_same(make_update(spec), reference::make_update(spec),
                    update_operands(spec, {random_floats(count, 2)}), {}, kTolerance,
                    fmt::format("update {} of {}", static_cast<int>(rule), count));
      }
    }
  }
}

TEST(Update, PartsMakeTheSameBits) {
  for (const UpdateRule rule : kRules) {
    const UpdateSpec spec{.rule = rule, .count = 1000, .decay = 0.01};
    const std::int64_t part = 5 * make_update(spec)->part_unit();
    ASSERT_GT(part, 0);
    const std::shared_ptr<Kernel> kernel = make_update(spec);
    auto in_parts = make_kernel([=](Buffers in, Buffers out) {
      for (std::int64_t begin = 0; begin < spec.count; begin += part)
        kernel->run_part(begin, std::min(begin + part, spec.count), in, out, nullptr);
    });
    expect_same(in_parts, make_update(spec), update_operands(spec, {random_floats(spec.count, 2)}), {}, 0,
                fmt::format("update {} in parts", static_cast<int>(rule)));
  }
}

TEST(Update, TouchesOnlyTheGivenRows) {
  for (const UpdateRule rule : kRules) {
    const UpdateSpec spec{.rule = rule, .count = 9 * 17, .rows = 4, .width = 17};
    expect_same(make_update(spec), reference::make_update(spec),
                update_operands(spec, {random_floats(4 * 17, 2), ints({1, 4, 8, -1})}), {}, kTolerance,
                fmt::format("update_rows {}", static_cast<int>(rule)));
  }
}

TEST(SquareSums, AgreesWithTheReference) {
  const SquareSumsSpec spec{.counts = {1, 1024, 2500, 17}, .begins = {0, 1, 3, 6}, .size = 8};
  std::vector<Operand> in;
  for (const std::int64_t count : spec.counts) in.push_back(random_floats(count, 1));
  expect_same(make_square_sums(spec), reference::make_square_sums(spec), in, {Operand(DType::f64, 8)}, 1e-7,
              "square_sums");
}

TEST(SquareSums, DoesNotDependOnTheNumberOfThreads) {
  const SquareSumsSpec spec{.counts = {100'000}, .begins = {0}, .size = 98};
  expect_same(with_threads(2, make_square_sums(spec)), make_square_sums(spec), {random_floats(100'000, 1)},
              {Operand(DType::f64, 98)}, 0, "square_sums");
}

TEST(Accumulate, AgreesWithTheReference) {
  for (const std::int64_t count : {1, 16, 100}) {
    expect_same(make_accumulate({count}), reference::make_accumulate({count}),
                {random_floats(count, 1), random_floats(count, 2)}, {}, 0, "accumulate");
  }
}

}  // namespace
}  // namespace hocket::kernel
