#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tensor/kernels/oracle.h"
#include "tensor/kernels/shape.h"
#include "tensor/reference/shape.h"

namespace hocket::kernel {
namespace {

constexpr DType kDTypes[] = {DType::u8, DType::bf16, DType::f32, DType::f64};

// Elements of a dtype with bytes that are all different.
Operand elements(DType dtype, std::int64_t count) {
  Operand result(dtype, count);
  visit_dtype(dtype, [&]<typename T>(T) {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_class_v<T>) {
        result.as<T>()[i] = T(static_cast<float>(i % 251));
      } else {
        result.as<T>()[i] = static_cast<T>(i % 251);
      }
    }
  });
  return result;
}

TEST(Transpose, AgreesWithTheReferenceForEveryPermutation) {
  std::vector<int> perm = {0, 1, 2, 3};
  do {
    for (const DType dtype : kDTypes) {
      const TransposeSpec spec{.x = {3, 5, 18, 7}, .perm = perm, .dtype = dtype};
      expect_same(make_transpose(spec), reference::make_transpose(spec), {elements(dtype, spec.x.count())},
                  {Operand(dtype, spec.x.count())}, 0, fmt::format("transpose {}", fmt::join(perm, ",")));
    }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Transpose, ConvertsLayouts) {
  const TransposeSpec spec{.x = {4, 33, 6, 7}, .perm = {0, 2, 3, 1}};
  expect_same(make_transpose(spec), reference::make_transpose(spec), {elements(DType::f32, spec.x.count())},
              {Operand(DType::f32, spec.x.count())}, 0, "to channels last");
}

TEST(Slice, AndUnsliceAgreeWithTheReference) {
  const StridedSpec specs[] = {
      {.whole = {6, 7, 8}, .part = {6, 7, 8}, .begin = {0, 0, 0}, .step = {1, 1, 1}},
      {.whole = {6, 7, 8}, .part = {2, 7, 8}, .begin = {3, 0, 0}, .step = {1, 1, 1}},
      {.whole = {6, 7, 8}, .part = {3, 3, 5}, .begin = {1, 1, 2}, .step = {2, 2, 1}},
      {.whole = {6, 7, 8}, .part = {6, 7, 3}, .begin = {0, 0, 1}, .step = {1, 1, 3}},
      {.whole = {9}, .part = {1}, .begin = {8}, .step = {1}},
  };
  for (StridedSpec spec : specs) {
    for (const DType dtype : kDTypes) {
      spec.dtype = dtype;
      expect_same(make_slice(spec), reference::make_slice(spec), {elements(dtype, spec.whole.count())},
                  {Operand(dtype, spec.part.count())}, 0, "slice " + to_string(spec.part));
      expect_same(make_unslice(spec), reference::make_unslice(spec), {elements(dtype, spec.part.count())},
                  {Operand(dtype, spec.whole.count())}, 0, "unslice " + to_string(spec.part));
    }
  }
}

TEST(Concat, AgreesWithTheReference) {
  const ConcatSpec spec{.outer = 5, .widths = {3, 17, 1}};
  expect_same(make_concat(spec), reference::make_concat(spec),
              {random_floats(15, 1), random_floats(85, 2), random_floats(5, 3)}, {Operand(DType::f32, 105)},
              0, "concat");
}

TEST(BroadcastTo, AgreesWithTheReference) {
  for (const auto& [x, y] :
       {std::pair<Shape, Shape>{{}, {3, 4}}, {{4}, {3, 4}}, {{3, 1}, {3, 4}}, {{2, 1, 5}, {2, 3, 5}}}) {
    const BroadcastSpec spec{.x = x, .y = y};
    expect_same(make_broadcast_to(spec), reference::make_broadcast_to(spec), {random_floats(x.count(), 1)},
                {Operand(DType::f32, y.count())}, 0, "broadcast_to " + to_string(y));
  }
}

}  // namespace
}  // namespace hocket::kernel
