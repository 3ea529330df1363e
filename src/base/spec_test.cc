#include "base/spec.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

TEST(Spec, ReadsBackWhatItPrints) {
  const Spec spec = Spec::parse("model", "resnet,depth=20,width=2x3");
  EXPECT_EQ(spec.name, "resnet");
  EXPECT_EQ(spec.text(), "resnet,depth=20,width=2x3");
  EXPECT_THROW(Spec::parse("model", "resnet,depth"), ConfigError);
}

TEST(SpecOptions, TakesDefaultsAndRefusesTheRest) {
  const SpecOptions options("model", Spec::parse("model", "m,a=3"), {{"a", "1"}, {"b", "4x5"}, {"c", "0.5"}});
  EXPECT_EQ(options.integer("a"), 3);
  EXPECT_EQ(options.list("b"), (std::vector<std::int64_t>{4, 5}));
  EXPECT_DOUBLE_EQ(options.real("c"), 0.5);
  EXPECT_THROW(options.integer("b"), ConfigError);
  EXPECT_THROW(options.integer("c"), ConfigError);
  EXPECT_THROW(SpecOptions("model", Spec::parse("model", "m,z=3"), {{"a", "1"}}), ConfigError);
}

}  // namespace
}  // namespace hocket
