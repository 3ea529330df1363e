#include "data/number.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace hocket {
namespace {

double parsed(std::string_view text) {
  double value = 0;
  EXPECT_TRUE(parse_whole_number(text, value)) << text;
  return value;
}

TEST(Number, ReadsWhatStrtodReads) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "+1",
                           "-1.5",
                           "3.",
                           ".5",
                           "1e3",
                           "1E-3",
                           "-2.5e+10",
                           "123456789012345678901",
                           "0.1",
                           "0.30000000000000004",
                           "9007199254740993",
                           "1e22",
                           "1e23",
                           "1e308",
                           "1e400",
                           "-1e400",
                           "1e-320",
                           "1e-400",
                           "4.9e-324",
                           "00012",
                           "0.000000000000000000000001"}) {
    EXPECT_EQ(parsed(text), std::strtod(text, nullptr)) << text;
  }
  EXPECT_TRUE(std::isnan(parsed("nan")));
  EXPECT_TRUE(std::isinf(parsed("-inf")));
}

RC_GTEST_PROP(Number, IsExactToTheLastBit, ()) {
  const auto value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
  RC_PRE(std::isfinite(value));
  double found = 0;
  RC_ASSERT(parse_whole_number(fmt::format("{}", value), found));
  RC_ASSERT(std::bit_cast<std::uint64_t>(found) == std::bit_cast<std::uint64_t>(value));
}

RC_GTEST_PROP(Number, AgreesWithStrtodOnShortDecimals, ()) {
  const std::string text =
      fmt::format("{}.{}", *rc::gen::inRange(-100000, 100000), *rc::gen::inRange(0, 1000000));
  double found = 0;
  RC_ASSERT(parse_whole_number(text, found));
  RC_ASSERT(found == std::strtod(text.c_str(), nullptr));
}

TEST(Number, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"", "-", "+", ".", "e5", "--1", "+-1", "-+1", "1x", "0x10", "1 ", "abc", "1e", "1e+"}) {
    double value = 0;
    EXPECT_FALSE(parse_whole_number(text, value)) << text;
  }
}

TEST(InQuotes, IsShortAndPrintable) {
  EXPECT_EQ(in_quotes("abc"), "'abc'");
  EXPECT_EQ(in_quotes("a\nb\x80"), "'a?b?'");
  EXPECT_EQ(in_quotes(std::string(30, 'x')), "'" + std::string(24, 'x') + "…'");
}

}  // namespace
}  // namespace hocket
