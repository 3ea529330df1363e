#include "base/quantity.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Quantity, ReadsTimesAndRates) {
  EXPECT_DOUBLE_EQ(find_seconds("20us").value(), 20e-6);
  EXPECT_DOUBLE_EQ(find_seconds("1.5 ms").value(), 1.5e-3);
  EXPECT_DOUBLE_EQ(find_seconds("0").value(), 0);
  EXPECT_DOUBLE_EQ(find_seconds("10m").value(), 600);
  EXPECT_DOUBLE_EQ(find_bytes_per_second("10Gbit").value(), 1.25e9);
  EXPECT_DOUBLE_EQ(find_bytes_per_second("1.2 GB/s").value(), 1.2e9);
  EXPECT_DOUBLE_EQ(find_bytes_per_second("1MiB/s").value(), 1048576);
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"", "us", "20", "20 minutes", "-1us", "nans", "inf s", "1e400s", "20us "}) {
    EXPECT_FALSE(find_seconds(text)) << text;
  }
  for (const char* text : {"", "/s", "10", "10Gbit/h", "-1GB", "GB"}) {
    EXPECT_FALSE(find_bytes_per_second(text)) << text;
  }
}

TEST(Quantity, WritesThreeDigits) {
  EXPECT_EQ(seconds_text(20e-6), "20.0 us");
  EXPECT_EQ(seconds_text(1.5e-3), "1.50 ms");
  EXPECT_EQ(seconds_text(123.4), "123 s");
  EXPECT_EQ(seconds_text(1e-11), "0.01 ns");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(rate_text(1.25e9), "1.25 GB/s");
  EXPECT_EQ(rate_text(12), "12.0 B/s");
  EXPECT_EQ(size_text(1 << 20), "1.00 MiB");
  EXPECT_EQ(size_text(100), "100 B");
}

}  // namespace
}  // namespace hocket
