#include "collective/show.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Show, TellsWhoSendsWhichChunkToWhom) {
  EXPECT_EQ(show({.algorithm = Algorithm::ring, .world = 2, .count = 3}),
            R"(all_reduce by ring: 2 ranks, 3 elements, 2 rounds
round  rank  sends              receives
    0     0  chunk 1 -> rank 1  chunk 0 += rank 1
    0     1  chunk 0 -> rank 0  chunk 1 += rank 0
             idle links: none
    1     0  chunk 0 -> rank 1  chunk 1 <- rank 1
    1     1  chunk 1 -> rank 0  chunk 0 <- rank 0
             idle links: none
)");
}

TEST(Show, TellsWhichLinksAreIdle) {
  EXPECT_EQ(
      show({.collective = Collective::broadcast, .algorithm = Algorithm::naive_ring, .world = 3, .count = 8}),
      R"(broadcast by naive_ring: 3 ranks, 8 elements, 2 rounds
round  rank  sends          receives
    0     0  all -> rank 1  -
    0     1  -              all <- rank 0
    0     2  -              -
             idle links: 1 of 2: 1->2
    1     0  -              -
    1     1  all -> rank 2  -
    1     2  -              all <- rank 1
             idle links: 1 of 2: 0->1
)");
}

TEST(Show, TellsOfScratchAndOfPartsOfChunks) {
  const std::string text = show({.algorithm = Algorithm::master, .world = 3, .count = 6, .root = 2});
  EXPECT_NE(text.find("scratch [0, 6) <- rank 0, scratch [0, 6) += rank 1, all += scratch [0, 6)"),
            std::string::npos)
      << text;
  const std::string segments =
      show({.algorithm = Algorithm::segmented_ring, .world = 2, .count = 6, .segment = 2});
  EXPECT_NE(segments.find("data [0, 2) -> rank 0, data [2, 3) -> rank 0"), std::string::npos) << segments;
}

TEST(Show, SaysAnActionInWords) {
  EXPECT_EQ(text_of(recv_reduce(2, {4, 4})), "recv_reduce data [4, 8) from rank 2");
  EXPECT_EQ(text_of(copy(Buffer::scratch, 1, {4, 4})), "copy scratch [1, 5) to data [4, 8)");
}

}  // namespace
}  // namespace hocket
