#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "data/describe.h"
#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

Batch first_samples(const Dataset& data, std::int64_t count) {
  Batch batch = make_batch(data.info(), count);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  data.gather(indices, 0, batch.fields);
  return batch;
}

TEST(Synthetic, IsTheSameEveryTimeAndPartsDiffer) {
  for (const char* shape : {"mnist,samples=100", "cifar10,samples=100", "text,samples=100",
                            "sparse,samples=100", "ctr,samples=100", "2x5x9:3:50"}) {
    const DataParts once = open_dataset({std::string("synthetic:") + shape, ""});
    const DataParts again = open_dataset({std::string("synthetic:") + shape, ""});
    const Batch a = first_samples(*once.train, 8);
    const Batch b = first_samples(*again.train, 8);
    const Batch c = first_samples(*once.test, 8);
    for (std::size_t i = 0; i < a.fields.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(a.fields[i].bytes(), b.fields[i].bytes())) << shape;
    }
    EXPECT_FALSE(std::ranges::equal(a.fields[0].bytes(), c.fields[0].bytes()) &&
                 std::ranges::equal(a.fields[1].bytes(), c.fields[1].bytes()))
        << shape;
    EXPECT_TRUE(check(*once.train).empty()) << shape;
  }
}

TEST(Synthetic, HasTheShapesOfTheSetsItStandsFor) {
  EXPECT_EQ(open_dataset({"synthetic:mnist", ""}).train->info().fields[0].shape, (Shape{1, 28, 28}));
  const DataParts imagenet = open_dataset({"synthetic:imagenet", ""});
  EXPECT_EQ(imagenet.train->info().size, 1281167);
  EXPECT_EQ(imagenet.train->info().classes, 1000);
  const DataParts own = open_dataset({"synthetic:2x5x9:3:50", ""});
  EXPECT_EQ(own.train->info().fields[0].shape, (Shape{2, 5, 9}));
  EXPECT_EQ(own.train->info().classes, 3);
  EXPECT_EQ(own.train->info().size, 50);
}

TEST(Synthetic, ImagesAreLearnable) {
  // The nearest class mean of 2,000 training images classifies test images that it has not seen.
  const DataParts parts = open_dataset({"synthetic:mnist,samples=2000", ""});
  const Batch train = first_samples(*parts.train, 2000);
  std::vector<float> means(10 * 784);
  std::vector<float> counts(10);
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto label = static_cast<std::size_t>(train.fields[1].values<std::int32_t>()[i]);
    ++counts[label];
    for (std::size_t k = 0; k < 784; ++k)
      means[label * 784 + k] += train.fields[0].values<float>()[i * 784 + k];
  }
  for (std::size_t k = 0; k < means.size(); ++k) means[k] /= counts[k / 784];
  const Batch test = first_samples(*parts.test, 400);
  int right = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    std::size_t best = 0;
    double best_distance = INFINITY;
    for (std::size_t label = 0; label < 10; ++label) {
      double distance = 0;
      for (std::size_t k = 0; k < 784; ++k) {
        distance += std::pow(test.fields[0].values<float>()[i * 784 + k] - means[label * 784 + k], 2);
      }
      if (distance < best_distance) {
        best_distance = distance;
        best = label;
      }
    }
    right += static_cast<std::size_t>(test.fields[1].values<std::int32_t>()[i]) == best ? 1 : 0;
  }
  EXPECT_GT(right, 380);
}

TEST(Synthetic, TextRepeatsItself) {
  // After any two letters one letter follows far more often than chance (1 in 26).
  const DataParts parts = open_dataset({"synthetic:text,samples=400", ""});
  const Batch batch = first_samples(*parts.train, 400);
  const auto tokens = batch.fields[0].values<std::int32_t>();
  std::map<std::pair<int, int>, std::map<int, int>> follow;
  for (std::size_t i = 2; i < tokens.size(); ++i) ++follow[{tokens[i - 2], tokens[i - 1]}][tokens[i]];
  double best = 0;
  for (const auto& [pair, next] : follow) {
    int most = 0;
    for (const auto& [symbol, count] : next) most = std::max(most, count);
    best += most;
  }
  EXPECT_GT(best / static_cast<double>(tokens.size()), 0.5);
}

TEST(Synthetic, BothAnswersAreFrequent) {
  for (const char* shape : {"synthetic:sparse,samples=2000", "synthetic:ctr,samples=2000"}) {
    const auto histogram = describe(*open_dataset({shape, ""}).train).histogram;
    EXPECT_GT(histogram[0], 400) << shape;
    EXPECT_GT(histogram[1], 400) << shape;
  }
}

TEST(Synthetic, NamesWhatItDoesNotKnow) {
  EXPECT_NE(message_of<ConfigError>([] {
              open_dataset({"synthetic:mnst", ""});
            }).find("did you mean mnist?"),
            std::string::npos);
  for (const char* shape :
       {"3x3", "0x3x3:2", "3x3x3:1", "3x3x3:2:0", "3x3x3:2:5:6", "3x99999x3:2", "axbxc:2"}) {
    EXPECT_THROW(open_dataset({std::string("synthetic:") + shape, ""}), ConfigError) << shape;
  }
}

}  // namespace
}  // namespace hocket
