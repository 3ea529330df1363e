#include "cli/workers.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(WarningOfSpread, IsOnlyForRanksAlongTpOnSeveralHosts) {
  const std::vector<int> hosts{0, 0, 1, 1};
  EXPECT_EQ(warning_of_spread(Mesh::parse("dp=2,tp=2", 4), hosts), "");
  EXPECT_EQ(warning_of_spread(Mesh::parse("dp=4", 4), hosts), "");
  EXPECT_EQ(warning_of_spread(Mesh::parse("tp=4", 4), hosts),
            "tp=4, but of ranks 0,1,2,3 only 2 are on the host of rank 0: what they send for each layer "
            "crosses hosts");
  EXPECT_EQ(
      warning_of_spread(Mesh::parse("dp=2,tp=2", 4), std::vector<int>{0, 0, 1, 2}),
      "tp=2, but of ranks 2,3 only 1 is on the host of rank 2: what they send for each layer crosses hosts");
}

}  // namespace
}  // namespace hocket
