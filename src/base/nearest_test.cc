#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 4> kWords{"context", "label", "buckets", "batch"};

TEST(Nearest, NamesTheClosestWord) {
  EXPECT_EQ(nearest("contxt", kWords), "context");
  EXPECT_EQ(nearest("lable", kWords), "label");
  EXPECT_EQ(nearest("bucket", kWords), "buckets");
  EXPECT_EQ(nearest("batch", kWords), "batch");
}

TEST(Nearest, StaysSilentWhenNothingIsClose) {
  EXPECT_EQ(nearest("zzzzzzzz", kWords), "");
  EXPECT_EQ(did_you_mean("zzzzzzzz", kWords), "");
}

TEST(Nearest, EndsAnErrorMessage) { EXPECT_EQ(did_you_mean("lable", kWords), "; did you mean label?"); }

}  // namespace
}  // namespace hocket
