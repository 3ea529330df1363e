#include "cli/units.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

TEST(Units, CountsHaveGroupsOfThree) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(421642), "421,642");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
}

TEST(Units, SizesHaveThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(999.9), "1.00 kB");
  EXPECT_EQ(bytes_text(1686568), "1.69 MB");
  EXPECT_EQ(bytes_text(46.48e6), "46.5 MB");
  EXPECT_EQ(flops_text(3.1e11), "310 GFLOP");
}

TEST(Units, DurationsFitTheirLength) {
  EXPECT_EQ(duration_text(0.421), "0.42 s");
  EXPECT_EQ(duration_text(12.34), "12.3 s");
  EXPECT_EQ(duration_text(125), "2 min 5 s");
  EXPECT_EQ(duration_text(3720), "1 h 2 min");
}

TEST(Units, SizesAreReadInEitherSystem) {
  EXPECT_EQ(parse_bytes("512MB", "x"), 512000000);
  EXPECT_EQ(parse_bytes("2GiB", "x"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1.5 kB", "x"), 1500);
  EXPECT_EQ(parse_bytes("17", "x"), 17);
  for (const char* bad : {"", "MB", "-1MB", "1XB", "1e300GB", "9999999TiB"}) {
    EXPECT_THROW(parse_bytes(bad, "--memory"), ConfigError) << bad;
  }
}

}  // namespace
}  // namespace hocket
