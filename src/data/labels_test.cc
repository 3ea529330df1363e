#include "data/labels.h"

#include <gtest/gtest.h>

#include "data/test_files.h"

namespace hocket {
namespace {

LabelMap map_of(const std::vector<float>& values, std::optional<Task> task = std::nullopt) {
  return {"x", values, task};
}

TEST(LabelMap, TwoValuesAreBinary) {
  const LabelMap map = map_of({1, -1, 1, 1});
  EXPECT_EQ(map.task(), Task::binary);
  EXPECT_EQ(map.classes(), 2);
  EXPECT_EQ(map.find(-1), 0.0F);
  EXPECT_EQ(map.find(1), 1.0F);
  EXPECT_EQ(map.find(0), std::nullopt);
  EXPECT_EQ(map_of({2, 1}).find(2), 1.0F);
  EXPECT_EQ(map_of({0.5F, 0.25F}).task(), Task::binary);
}

TEST(LabelMap, WholeValuesAreClasses) {
  const LabelMap map = map_of({7, 3, 5, 3});
  EXPECT_EQ(map.task(), Task::classification);
  EXPECT_EQ(map.classes(), 3);
  EXPECT_EQ(map.find(5), 1.0F);
  EXPECT_EQ(map.names(), (std::vector<std::string>{"3", "5", "7"}));
}

TEST(LabelMap, OthersAreRegression) {
  const LabelMap map = map_of({0.5F, 1, 2});
  EXPECT_EQ(map.task(), Task::regression);
  EXPECT_EQ(map.classes(), 0);
  EXPECT_EQ(map.find(42), 42.0F);
  std::vector<float> many(1001);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  EXPECT_EQ(map_of(many).task(), Task::regression);
}

TEST(LabelMap, ObeysTheTaskThatIsGiven) {
  EXPECT_EQ(map_of({0, 1}, Task::regression).find(0.5F), 0.5F);
  EXPECT_EQ(map_of({0, 1}, Task::classification).task(), Task::classification);
  EXPECT_THROW(map_of({0, 1, 2}, Task::binary), DataError);
}

TEST(LabelMap, KnowsTheMissingSideOfASingleValue) {
  EXPECT_EQ(map_of({1}).find(1), 1.0F);
  EXPECT_EQ(map_of({-1}).find(-1), 0.0F);
}

TEST(LabelMap, NamesTheRowWithAnUnknownLabel) {
  std::vector<float> values{1, 2};
  EXPECT_EQ(message_of<DataError>([&] {
              map_of({0, 1}).encode("f", values);
            }),
            "f: row 2: expected a label of the training data (0, 1), found 2");
}

TEST(ParseTask, KnowsItsWords) {
  EXPECT_EQ(parse_task("auto"), std::nullopt);
  EXPECT_EQ(parse_task("binary"), Task::binary);
  EXPECT_THROW(parse_task("language"), ConfigError);
}

}  // namespace
}  // namespace hocket
