#include "train/update_queue.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hocket {
namespace {

std::vector<Claim> drain(UpdateQueue& queue) {
  std::vector<Claim> claims;
  while (const auto claim = queue.try_claim()) claims.push_back(*claim);
  return claims;
}

TEST(UpdateQueue, HandsOutEverySampleOnceAnEpoch) {
  UpdateQueue queue(23, 8, 3);  // Batches of 8, 8 and 7 samples.
  queue.open(0, 6);
  std::vector<std::vector<int>> taken(2, std::vector<int>(23, 0));
  for (const Claim& claim : drain(queue)) {
    EXPECT_LE(claim.count, 3);
    EXPECT_EQ(claim.batch_count, claim.step % 3 == 2 ? 7 : 8);
    EXPECT_EQ(claim.first, claim.step % 3 * 8 + claim.offset);
    for (std::int64_t i = 0; i < claim.count; ++i)
      ++taken[static_cast<std::size_t>(claim.epoch)][static_cast<std::size_t>(claim.first + i)];
  }
  for (const auto& epoch : taken) EXPECT_EQ(epoch, std::vector<int>(23, 1));
}

TEST(UpdateQueue, ClosesAtTheEndOfABatch) {
  UpdateQueue queue(100, 10, 4);
  queue.open(2, 10);
  EXPECT_EQ(queue.try_claim()->step, 2);
  queue.close();
  EXPECT_TRUE(drain(queue).empty());
  EXPECT_EQ(queue.open_rest(), 3);
  const std::vector<Claim> rest = drain(queue);
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].offset, 4);
  EXPECT_EQ(rest[1].count, 2);
  queue.open(3, 4);
  EXPECT_EQ(drain(queue).size(), 3U);
  queue.close();
  EXPECT_EQ(queue.open_rest(), 4);
  EXPECT_TRUE(drain(queue).empty());
}

TEST(UpdateQueue, ThreadsShareWhatThereIs) {
  UpdateQueue queue(1000, 10, 1);
  queue.open(0, 100);
  std::vector<std::atomic<int>> taken(1000);
  {
    const auto take = [&] {
      for (const Claim& claim : drain(queue)) ++taken[static_cast<std::size_t>(claim.first)];
    };
    const std::jthread one(take), other(take);
    queue.close();
  }
  const std::int64_t end = queue.open_rest();
  for (const Claim& claim : drain(queue)) ++taken[static_cast<std::size_t>(claim.first)];
  for (std::size_t i = 0; i < taken.size(); ++i)
    EXPECT_EQ(taken[i], static_cast<std::int64_t>(i) < 10 * end ? 1 : 0) << i;
}

}  // namespace
}  // namespace hocket
