#include "tensor/reference/shape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "tensor/reference/run_kernel.h"

namespace hocket::reference {
namespace {

Tensor counted(const Shape& shape) {
  const Tensor tensor(DType::i32, shape);
  std::iota(tensor.values<std::int32_t>().begin(), tensor.values<std::int32_t>().end(), 1);
  return tensor;
}

TEST(ReferenceTranspose, MovesDimensions) {
  const Tensor y(DType::i32, {3, 2});
  run_kernel(*make_transpose({{2, 3}, {1, 0}, DType::i32}), {counted({2, 3})}, {y});
  EXPECT_EQ(elements<std::int32_t>(y), (std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST(ReferenceSlice, TakesEveryStep) {
  const Tensor y(DType::i32, {2, 2});
  run_kernel(*make_slice({{3, 4}, {2, 2}, {0, 1}, {2, 2}, DType::i32}), {counted({3, 4})}, {y});
  EXPECT_EQ(elements<std::int32_t>(y), (std::vector<std::int32_t>{2, 4, 10, 12}));
}

RC_GTEST_PROP(ReferenceSlice, ComesBackFromUnslice, ()) {
  StridedSpec spec;
  std::vector<std::int64_t> whole, part;
  for (int axis = *rc::gen::inRange(1, 5); axis > 0; --axis) {
    part.push_back(*rc::gen::inRange(1, 4));
    spec.begin.push_back(*rc::gen::inRange(0, 3));
    spec.step.push_back(*rc::gen::inRange(1, 3));
    whole.push_back(spec.begin.back() + (part.back() - 1) * spec.step.back() + 1 + *rc::gen::inRange(0, 2));
  }
  spec.whole = Shape(whole);
  spec.part = Shape(part);
  spec.dtype = DType::i32;
  const Tensor x = counted(spec.part), wide(DType::i32, spec.whole), back(DType::i32, spec.part);
  run_kernel(*make_unslice(spec), {x}, {wide});
  run_kernel(*make_slice(spec), {wide}, {back});
  RC_ASSERT(elements<std::int32_t>(back) == elements<std::int32_t>(x));
  const auto all = elements<std::int32_t>(wide), own = elements<std::int32_t>(x);
  RC_ASSERT(std::accumulate(all.begin(), all.end(), 0) == std::accumulate(own.begin(), own.end(), 0));
}

TEST(ReferenceConcat, JoinsRowByRow) {
  const Tensor y(DType::i32, {2, 3});
  run_kernel(*make_concat({2, {2, 1}, DType::i32}), {counted({2, 2}), counted({2, 1})}, {y});
  EXPECT_EQ(elements<std::int32_t>(y), (std::vector<std::int32_t>{1, 2, 1, 3, 4, 2}));
}

TEST(ReferenceReduce, ReducesTheMarkedAxes) {
  const Tensor x = Tensor::of<double>({2, 3}, {1, 5, 3, 4, 2, 6});
  const auto reduce = [&](Reduce op, std::vector<bool> axes, std::int64_t left) {
    const Tensor y(DType::f64, {left});
    run_kernel(*make_reduce({op, {2, 3}, std::move(axes), DType::f64}), {x}, {y});
    return elements<double>(y);
  };
  EXPECT_EQ(reduce(Reduce::sum, {false, true}, 2), (std::vector<double>{9, 12}));
  EXPECT_EQ(reduce(Reduce::mean, {true, false}, 3), (std::vector<double>{2.5, 3.5, 4.5}));
  EXPECT_EQ(reduce(Reduce::max, {true, true}, 1), (std::vector<double>{6}));
}

TEST(ReferenceReduceMaxGrad, SharesAmongEqualMaxima) {
  const Tensor x = Tensor::of<float>({2, 3}, {7, 7, 1, 0, 2, 1});
  const Tensor dx(DType::f32, {2, 3});
  run_kernel(*make_reduce_max_grad({Reduce::max, {2, 3}, {false, true}, DType::f32}),
             {Tensor::of<float>({2}, {4, 3}), x, Tensor::of<float>({2}, {7, 2})}, {dx});
  EXPECT_EQ(elements<float>(dx), (std::vector<float>{2, 2, 0, 0, 3, 0}));
}

}  // namespace
}  // namespace hocket::reference
