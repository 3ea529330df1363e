#include "data/split.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/image_dataset.h"
#include "data/test_files.h"
#include "data/text_dataset.h"

namespace hocket {
namespace {

ImageDataset labelled_images(std::int64_t size) {
  ImageArray images;
  images.pixels = Tensor(DType::u8, {size, 1, 1, 1});
  images.labels.resize(static_cast<std::size_t>(size));
  std::iota(images.labels.begin(), images.labels.end(), 0);
  images.classes = size;
  return {"small", std::move(images), {{0}, {1}}};
}

std::vector<std::int64_t> joined(const Split& split) {
  std::vector<std::int64_t> all = split.train->indices();
  all.insert(all.end(), split.held_out->indices().begin(), split.held_out->indices().end());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

RC_GTEST_PROP(SplitValidation, PartsAreDisjointAndCoverTheSet, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(2, 200);
  const ImageDataset data = labelled_images(size);
  const double fraction = *rc::gen::inRange(1, 100) / 100.0;
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Split split = split_validation(data, fraction, seed);
  RC_ASSERT(joined(split) == first_numbers(size));
  RC_ASSERT(!split.train->indices().empty() && !split.held_out->indices().empty());
  RC_ASSERT(split_validation(data, fraction, seed).held_out->indices() == split.held_out->indices());
}

RC_GTEST_PROP(Fold, HeldOutPartsAreDisjointAndCoverTheSet, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(2, 100);
  const ImageDataset data = labelled_images(size);
  const int folds = *rc::gen::inRange(2, static_cast<int>(std::min<std::int64_t>(size, 12)) + 1);
  std::vector<std::int64_t> all;
  for (int i = 0; i < folds; ++i) {
    const Split split = fold(data, folds, i, 5);
    RC_ASSERT(joined(split) == first_numbers(size));
    RC_ASSERT(split.held_out->info().size >= size / folds && split.held_out->info().size <= size / folds + 1);
    all.insert(all.end(), split.held_out->indices().begin(), split.held_out->indices().end());
  }
  std::sort(all.begin(), all.end());
  RC_ASSERT(all == first_numbers(size));
}

TEST(Subset, GathersTheSamplesOfTheWhole) {
  const ImageDataset data = labelled_images(10);
  const SubsetDataset outer(data, "part", {9, 7, 5, 3}, false);
  const SubsetDataset inner(outer, "part of the part", {3, 1}, false);
  const Batch batch = make_batch(inner.info(), 3);
  const std::int64_t indices[] = {1, 0};
  inner.gather(indices, 0, batch.fields);
  const auto labels = batch.fields[1].values<std::int32_t>();
  EXPECT_EQ((std::vector<std::int32_t>(labels.begin(), labels.end())), (std::vector<std::int32_t>{7, 3, 0}));
}

TEST(SplitValidation, HoldsTextOutInOnePieceThatStaysTheSame) {
  const std::string text(1001, 'x');
  const TextDataset data("text", std::as_bytes(std::span(text)), nullptr, 10, true);
  const Split split = split_validation(data, 0.25, 1);
  EXPECT_EQ(split.held_out->indices().front(), data.info().size - split.held_out->info().size);
  EXPECT_EQ(split.held_out->indices().back(), data.info().size - 1);
}

TEST(SplitValidation, RefusesWhatLeavesAPartEmpty) {
  const ImageDataset data = labelled_images(5);
  EXPECT_THROW(split_validation(data, 0, 1), ConfigError);
  EXPECT_THROW(split_validation(data, 1, 1), ConfigError);
  EXPECT_THROW(split_validation(data, std::nan(""), 1), ConfigError);
  EXPECT_THROW(split_validation(labelled_images(1), 0.5, 1), ConfigError);
  EXPECT_THROW(fold(data, 1, 0, 1), ConfigError);
  EXPECT_THROW(fold(data, 6, 0, 1), ConfigError);
  EXPECT_THROW(fold(data, 3, 3, 1), ConfigError);
}

}  // namespace
}  // namespace hocket
