#include "train/ranking.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace hocket {
namespace {

Tensor vector_of(const std::vector<float>& values) {
  Tensor tensor(DType::f32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}

double area_of(const std::vector<float>& scores, const std::vector<float>& labels) {
  Ranking ranking;
  ranking.add(vector_of(scores), vector_of(labels), static_cast<std::int64_t>(scores.size()));
  return ranking.area();
}

TEST(Ranking, IsTheChanceThatAPositiveSampleHasTheHigherScore) {
  EXPECT_EQ(area_of({-2, -1, 1, 2}, {0, 0, 1, 1}), 1);
  EXPECT_EQ(area_of({-2, -1, 1, 2}, {1, 1, 0, 0}), 0);
  EXPECT_EQ(area_of({-2, -1, 1, 2}, {0, 1, 0, 1}), 0.75);
  EXPECT_EQ(area_of({3, 3, 3, 3}, {0, 1, 0, 1}), 0.5);
  EXPECT_EQ(area_of({1, 2}, {1, 1}), 0.5);
}

TEST(Ranking, RanksAddUpWhatTheyHaveSeen) {
  Rng rng({7});
  std::vector<float> scores, labels;
  for (int i = 0; i < 400; ++i) {
    const bool positive = rng.uniform() < 0.3;
    scores.push_back(static_cast<float>(rng.uniform() * 4 - (positive ? 1 : 2)));
    labels.push_back(positive ? 1.0F : 0.0F);
  }
  double won = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] < labels[j]) won += scores[i] < scores[j] ? 1 : 0, pairs += 1;
    }
  }
  Ranking first, second;
  first.add(vector_of(scores), vector_of(labels), 100);
  second.add(vector_of({scores.begin() + 100, scores.end()}), vector_of({labels.begin() + 100, labels.end()}),
             300);
  for (std::size_t i = 0; i < first.counts().size(); ++i) first.counts()[i] += second.counts()[i];
  EXPECT_NEAR(first.area(), won / pairs, 2e-3);
  EXPECT_GT(first.area(), 0.6);
}

}  // namespace
}  // namespace hocket
