#include "train/tensor_part.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace hocket {
namespace {

// Where each element of the part lies in the whole tensor, one by one.
std::vector<std::int64_t> elements_of(const TensorPart& part) {
  std::vector<std::int64_t> elements;
  for (std::int64_t i = part.first; i < part.first + part.count; ++i) {
    std::int64_t rest = i, element = 0, stride = 1;
    for (int dim = part.shape.rank() - 1; dim >= 0; --dim) {
      element += (part.begin[static_cast<std::size_t>(dim)] + rest % part.shape[dim]) * stride;
      rest /= part.shape[dim];
      stride *= part.global[dim];
    }
    elements.push_back(element);
  }
  return elements;
}

TensorPart random_part(const Shape& global, Rng& rng) {
  TensorPart part = TensorPart::whole("t", DType::f32, global);
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(rng.uniform() * static_cast<double>(end));
  };
  for (int dim = 0; dim < global.rank(); ++dim) {
    if (rng.uniform() < 0.5) continue;
    part.begin[static_cast<std::size_t>(dim)] = below(global[dim]);
    part.shape[dim] = 1 + below(global[dim] - part.begin[static_cast<std::size_t>(dim)]);
  }
  part.first = rng.uniform() < 0.5 ? 0 : below(part.shape.count());
  part.count = rng.uniform() < 0.5 ? part.shape.count() - part.first : below(part.shape.count() - part.first);
  return part;
}

const Shape kShapes[] = {{}, {7}, {1, 5}, {4, 6}, {3, 1, 4}, {2, 3, 4, 2}};

TEST(PartRuns, CoverThePartInOrder) {
  Rng rng{1};
  for (int round = 0; round < 300; ++round) {
    for (const Shape& global : kShapes) {
      const TensorPart part = random_part(global, rng);
      ASSERT_FALSE(find_flaw(part)) << *find_flaw(part);
      std::vector<std::int64_t> elements;
      for (PartRuns runs(part); !runs.is_over(); runs.next()) {
        ASSERT_EQ(runs.run().offset, static_cast<std::int64_t>(elements.size()));
        for (std::int64_t i = runs.run().begin; i < runs.run().end; ++i) elements.push_back(i);
      }
      EXPECT_EQ(elements, elements_of(part));
    }
  }
}

TEST(PartRuns, AreAsLongAsTheyCanBe) {
  const auto count = [](const TensorPart& part) {
    int runs = 0;
    for (PartRuns each(part); !each.is_over(); each.next()) ++runs;
    return runs;
  };
  EXPECT_EQ(count({"t", DType::f32, {8, 4}, {0, 0}, {8, 4}, 0, 32}), 1);
  EXPECT_EQ(count({"t", DType::f32, {8, 4}, {2, 0}, {3, 4}, 0, 12}), 1);
  EXPECT_EQ(count({"t", DType::f32, {8, 4}, {0, 2}, {8, 2}, 0, 16}), 8);
  EXPECT_EQ(count({"t", DType::f32, {8, 4}, {0, 2}, {8, 2}, 3, 4}), 3);
}

TEST(ForEachSharedRun, FindsWhatTwoPartsShare) {
  Rng rng{2};
  for (int round = 0; round < 300; ++round) {
    for (const Shape& global : kShapes) {
      const TensorPart a = random_part(global, rng), b = random_part(global, rng);
      const std::vector<std::int64_t> in_a = elements_of(a), in_b = elements_of(b);
      std::vector<std::int64_t> shared, expected;
      for_each_shared_run(a, b, [&](std::int64_t at_a, std::int64_t at_b, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          shared.push_back(in_a[static_cast<std::size_t>(at_a + i)]);
          ASSERT_EQ(shared.back(), in_b[static_cast<std::size_t>(at_b + i)]);
        }
      });
      std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(), std::back_inserter(expected));
      EXPECT_EQ(shared, expected);
    }
  }
}

std::string cover(const std::vector<TensorPart>& parts) {
  std::vector<const TensorPart*> pointers;
  for (const TensorPart& part : parts) pointers.push_back(&part);
  const auto flaw = find_cover_flaw(pointers);
  return flaw ? std::to_string(flaw->element) + (flaw->is_twice ? " twice" : " missing") : "full";
}

TEST(FindCoverFlaw, NamesTheFirstElementThatIsNotThereOnce) {
  const TensorPart left{"t", DType::f32, {4, 6}, {0, 0}, {4, 3}, 0, 12};
  const TensorPart right{"t", DType::f32, {4, 6}, {0, 3}, {4, 3}, 0, 12};
  const TensorPart right_start{"t", DType::f32, {4, 6}, {0, 3}, {4, 3}, 0, 5};
  const TensorPart right_end{"t", DType::f32, {4, 6}, {0, 3}, {4, 3}, 5, 7};
  const TensorPart nothing{"t", DType::f32, {4, 6}, {0, 3}, {4, 3}, 12, 0};
  EXPECT_EQ(cover({left, right}), "full");
  EXPECT_EQ(cover({right_end, nothing, left, right_start}), "full");
  EXPECT_EQ(cover({TensorPart::whole("t", DType::f32, {})}), "full");
  EXPECT_EQ(cover({left}), "3 missing");
  EXPECT_EQ(cover({right}), "0 missing");
  EXPECT_EQ(cover({left, right_start}), "11 missing");
  EXPECT_EQ(cover({left, right_end}), "3 missing");
  EXPECT_EQ(cover({left, right, right_end}), "11 twice");
  EXPECT_EQ(cover({left, left, right}), "0 twice");
}

TEST(FindFlaw, DistrustsEveryNumber) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const TensorPart good{"t", DType::f32, {4, 6}, {1, 2}, {3, 4}, 2, 10};
  EXPECT_FALSE(find_flaw(good));
  const auto is_refused = [&](auto change) {
    TensorPart part = good;
    change(part);
    return find_flaw(part).has_value();
  };
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.begin = {1}; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.shape = {3}; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.begin[0] = 2; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.begin[0] = -1; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.begin[1] = huge; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.shape[1] = -4; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.shape[1] = huge; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.global = {4, -6}; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.global = {huge, huge}; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.first = 3; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.first = -1; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.first = huge; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.count = huge; }));
  EXPECT_TRUE(is_refused([](TensorPart& part) { part.count = -1; }));
}

}  // namespace
}  // namespace hocket
