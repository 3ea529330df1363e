#include "data/sampler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace hocket {
namespace {

std::vector<std::int64_t> whole_order(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  const SampleOrder order(size, seed, epoch);
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < size; ++i) samples.push_back(order[i]);
  return samples;
}

RC_GTEST_PROP(SampleOrder, VisitsEverySampleOnce, ()) {
  const auto size = *rc::gen::inRange<std::int64_t>(1, 3000);
  const auto samples =
      whole_order(size, *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::int64_t>(0, 100));
  const std::set<std::int64_t> distinct(samples.begin(), samples.end());
  RC_ASSERT(static_cast<std::int64_t>(distinct.size()) == size);
  RC_ASSERT(*distinct.begin() == 0 && *distinct.rbegin() == size - 1);
}

TEST(SampleOrder, CopiesWhatItGivesOneByOne) {
  for (const std::int64_t size : {1, 5, 64, 1000, 4096}) {
    const SampleOrder order(size, 3, 2);
    for (const std::int64_t first : {std::int64_t{0}, size / 3}) {
      std::vector<std::int64_t> copy(static_cast<std::size_t>(size - first)), expected;
      for (std::int64_t i = first; i < size; ++i) expected.push_back(order[i]);
      order.copy(first, copy);
      EXPECT_EQ(copy, expected) << size << " from " << first;
    }
  }
}

TEST(SampleOrder, DependsOnSeedAndEpoch) {
  EXPECT_EQ(whole_order(1000, 1, 2), whole_order(1000, 1, 2));
  EXPECT_NE(whole_order(1000, 1, 2), whole_order(1000, 1, 3));
  EXPECT_NE(whole_order(1000, 1, 2), whole_order(1000, 2, 2));
}

TEST(SampleOrder, SpreadsSamplesEvenly) {
  // How often each of 10 samples comes first, over many epochs: a fair order gives 1,000 each, deviation 30.
  std::vector<int> first(10);
  for (std::int64_t epoch = 0; epoch < 10000; ++epoch)
    ++first[static_cast<std::size_t>(SampleOrder(10, 7, epoch)[0])];
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);
}

TEST(SampleOrder, LeavesNoTraceOfTheOldOrder) {
  // Neighbours stay neighbours, in order, only by chance: 1 in 60,000 pairs.
  const auto samples = whole_order(60000, 3, 0);
  int kept = 0;
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) kept += samples[i + 1] == samples[i] + 1 ? 1 : 0;
  EXPECT_LT(kept, 10);
}

RC_GTEST_PROP(RankShare, CoversTheBatchInOrder, ()) {
  const SampleRange whole{*rc::gen::inRange<std::int64_t>(0, 1000), *rc::gen::inRange<std::int64_t>(0, 100)};
  const int ranks = *rc::gen::inRange(1, 17);
  std::int64_t next = whole.first;
  for (int rank = 0; rank < ranks; ++rank) {
    const SampleRange share = rank_share(whole, rank, ranks);
    RC_ASSERT(share.first == next);
    RC_ASSERT(share.count >= whole.count / ranks && share.count <= (whole.count + ranks - 1) / ranks);
    next += share.count;
  }
  RC_ASSERT(next == whole.first + whole.count);
}

}  // namespace
}  // namespace hocket
