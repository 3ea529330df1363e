#include "cli/keys.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace hocket {
namespace {

std::string refusal_of_key(std::string_view key, std::string_view value) {
  TrainOptions options;
  try {
    assign(*find_key(key), value, options, key);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Keys, NamesFlagsAndFieldsAreDistinct) {
  std::set<std::string> names;
  std::set<std::string> flags;
  std::set<const void*> fields;
  TrainOptions options;
  for (const Key& key : all_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_TRUE(flags.insert(key.flag()).second) << key.name;
    const KeyField field = key.field(options);
    EXPECT_TRUE(
        fields.insert(std::visit([](auto* at) { return static_cast<const void*>(at); }, field)).second)
        << key.name;
  }
}

TEST(Keys, FlagAndVariableFollowFromTheName) {
  EXPECT_EQ(find_key("train.lr_schedule")->flag(), "lr-schedule");
  EXPECT_EQ(find_key("train.lr_schedule")->variable(), "HOCKET_TRAIN__LR_SCHEDULE");
}

TEST(Keys, DefaultsReadBack) {
  const TrainOptions defaults;
  for (const Key& key : all_keys()) {
    TrainOptions options;
    assign(key, text_of(key, defaults), options, key.name);
    EXPECT_EQ(text_of(key, options), text_of(key, defaults)) << key.name;
  }
}

TEST(Keys, ValuesOutOfRangeAreRefusedWithWhatWasExpected) {
  EXPECT_EQ(refusal_of_key("train.lr", "0"), "train.lr: expected a number above 0, found '0'");
  EXPECT_EQ(refusal_of_key("train.lr", "nan"), "train.lr: expected a number above 0, found 'nan'");
  EXPECT_EQ(refusal_of_key("train.batch", "1.5"),
            "train.batch: expected a whole number from 1 on, found '1.5'");
  EXPECT_EQ(refusal_of_key("train.batch", "99999999999999999999"),
            "train.batch: expected a whole number from 1 on, found '99999999999999999999'");
  EXPECT_EQ(refusal_of_key("train.seed", "-1"), "train.seed: expected a whole number from 0 on, found '-1'");
  EXPECT_EQ(refusal_of_key("train.validation", "2"),
            "train.validation: expected a number from 0 to 0.9, found '2'");
  EXPECT_EQ(refusal_of_key("train.dtype", "f23"),
            "train.dtype: expected f32, bf16, f64, found 'f23'; did you mean f32?");
  EXPECT_EQ(refusal_of_key("train.gradient_norms", "yes"),
            "train.gradient_norms: expected true or false, found 'yes'");
  EXPECT_EQ(refusal_of_key("train.model", ""), "train.model: expected a name, found ''");
}

TEST(Keys, AutoLeavesTheChoiceToTheTrainer) {
  TrainOptions options;
  options.learning_rate = 3;
  assign(*find_key("train.lr"), "auto", options, "test");
  EXPECT_EQ(options.learning_rate, 0);
  EXPECT_NE(refusal_of_key("train.momentum", "auto"), "");
}

}  // namespace
}  // namespace hocket
