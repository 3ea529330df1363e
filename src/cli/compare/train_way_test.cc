#include "cli/compare/train_way.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> labels_of(const std::vector<TrainWay>& ways) {
  std::vector<std::string> labels;
  for (const TrainWay& way : ways) labels.push_back(label_of(way, ways));
  return labels;
}

std::vector<TrainWay> ways_of(const std::vector<std::pair<std::string, std::vector<std::string>>>& options) {
  Arguments arguments;
  for (const auto& [flag, values] : options) arguments.add(flag, values);
  return listed_ways(arguments, Settings());
}

std::string refusal_of_ways(const std::vector<std::pair<std::string, std::vector<std::string>>>& options) {
  try {
    ways_of(options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ListedWays, OneWorkerIsAlwaysAmongThem) {
  EXPECT_THAT(labels_of(ways_of({})), ElementsAre("1 worker"));
  EXPECT_THAT(labels_of(ways_of({{"workers", {"4"}}})), ElementsAre("1 worker", "4 workers"));
}

TEST(ListedWays, ValuesAreListedOrRepeatedAndEachWayIsThereOnce) {
  EXPECT_THAT(labels_of(ways_of({{"workers", {"1,2", "4", "2"}}})),
              ElementsAre("1 worker", "2 workers", "4 workers"));
}

TEST(ListedWays, MeshesAreSeparatedBySemicolonsAndSayHowManyWorkers) {
  const auto ways = ways_of({{"mesh", {"dp=2;tp=2", "dp=2,tp=2"}}});
  EXPECT_THAT(labels_of(ways), ElementsAre("1 worker", "2 workers", "2 workers tp=2", "4 workers tp=2"));
  EXPECT_EQ(workers_of(ways[3]), 4);
}

TEST(ListedWays, AreTheProductOfAllColumns) {
  EXPECT_THAT(labels_of(ways_of({{"workers", {"1,2"}}, {"zero", {"0,1"}}})),
              ElementsAre("1 worker", "2 workers", "2 workers, ZeRO 1"));
  EXPECT_THAT(
      labels_of(ways_of({{"workers", {"2"}}, {"batch", {"32,64"}}})),
      ElementsAre("1 worker, batch 32", "2 workers, batch 32", "1 worker, batch 64", "2 workers, batch 64"));
  EXPECT_THAT(labels_of(ways_of({{"batch", {"32"}}, {"lr-rule", {"none,linear"}}})),
              ElementsAre("1 worker, lr none", "1 worker, lr linear"));
}

TEST(ListedWays, AMeshThatDoesNotFitTheWorkersIsNamed) {
  const std::string message = refusal_of_ways({{"workers", {"1,3"}}, {"mesh", {"tp=2"}}});
  EXPECT_THAT(message, HasSubstr("workers 1, mesh tp=2"));
  EXPECT_THAT(refusal_of_ways({{"mesh", {"up=2"}}}), HasSubstr("up"));
}

TEST(ListedWays, AValueThatItsKeyRefusesIsNamed) {
  EXPECT_THAT(refusal_of_ways({{"workers", {"1,two"}}}), HasSubstr("--workers"));
  EXPECT_THAT(refusal_of_ways({{"workers", {"1,"}}}), HasSubstr("--workers"));
  EXPECT_THAT(refusal_of_ways({{"zero", {"4"}}}), HasSubstr("--zero"));
  EXPECT_THAT(refusal_of_ways({{"lr-rule", {"square"}}}), HasSubstr("--lr-rule"));
}

TEST(TrainWay, ItsBaselineHasOneWorkerAndTheSameBatchAndRule) {
  const auto ways = ways_of({{"mesh", {"dp=2,tp=2"}}, {"zero", {"1"}}, {"batch", {"64"}}});
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(baseline_of(ways[1]), ways[0]);
  EXPECT_EQ(baseline_of(ways[0]), ways[0]);
}

TEST(TrainWay, AWayOfTheBaseSettingsKeepsThem) {
  Settings base;
  base.set(*find_key("train.workers"), "2", "--workers", "command line");
  const std::vector<TrainWay> ways = listed_ways(Arguments(), base);
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(settings_of(ways[0], base, "compare").train_options().workers, 1);
  EXPECT_EQ(settings_of(ways[1], base, "compare").train_options().workers, 2);
}

TEST(TrainWay, WaysThatDifferInWorkersAloneAreOneGroup) {
  const auto ways = ways_of({{"mesh", {"dp=2;tp=2;tp=4"}}});
  EXPECT_EQ(group_of(ways[0], ways), "all-reduce");
  EXPECT_EQ(group_of(ways[1], ways), "all-reduce");
  EXPECT_EQ(group_of(ways[2], ways), "tp");
  EXPECT_EQ(group_of(ways[3], ways), "tp");
}

TEST(TrainWay, CountsTheKnobsThatOneWorkerHasNot) {
  const auto ways = ways_of({{"mesh", {"dp=2;tp=2"}}, {"zero", {"0,2"}}, {"lr-rule", {"linear"}}});
  EXPECT_THAT(knobs_of(ways_of({{"workers", {"2"}}})[1]), IsEmpty());
  EXPECT_THAT(knobs_of(ways.back()), ElementsAre("mesh", "zero", "lr_base_batch"));
  EXPECT_THAT(assumption_of(ways.back()), HasSubstr("tensor parallel"));
}

TEST(TrainWay, CountsTheKnobsOfItsDiscipline) {
  const auto knobs = [](const char* sync) {
    return knobs_of(ways_of({{"workers", {"2"}}, {"sync", {sync}}}).back());
  };
  EXPECT_THAT(knobs("ps:bsp"), IsEmpty());
  EXPECT_THAT(knobs("ps:ssp,s=3"), ElementsAre("s"));
  EXPECT_THAT(knobs("downpour"), ElementsAre("nfetch", "npush", "adagrad"));
}

TEST(FolderName, HasNothingThatAShellOrAnAddressWouldMind) {
  EXPECT_EQ(folder_name("4 workers tp=2, ZeRO 1, batch 64"), "4-workers-tp=2-ZeRO-1-batch-64");
}

}  // namespace
}  // namespace hocket
