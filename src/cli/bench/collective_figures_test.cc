#include "cli/bench/collective_figures.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(CollectiveFigures, SurviveTheWayThroughALine) {
  CollectiveFigures figures{"all_reduce", "ring", 1024, {2, 1, 3}, CollectiveCounts{6, 1, 1536, 6144}};
  const auto read = parse_figures(to_line(figures)).value();
  EXPECT_EQ(read.algorithm, "ring");
  EXPECT_EQ(read.bytes, 1024U);
  EXPECT_DOUBLE_EQ(read.us.p90, 3);
  EXPECT_EQ(read.counts.value().total_bytes, 6144);
}

TEST(CollectiveFigures, APeerHasNoCountsAndGarbageIsNothing) {
  const auto read = parse_figures(R"({"algorithm":"bcube","bytes":4,"median_us":1,"p10_us":1,"p90_us":1})");
  EXPECT_FALSE(read.value().counts);
  for (const char* line :
       {"", "mpirun: not found", "[]", R"({"bytes":4})", R"({"algorithm":1,"bytes":"x"})"}) {
    EXPECT_FALSE(parse_figures(line)) << line;
  }
}

TEST(ScheduleCounts, AreThoseOfTheClosedForms) {
  const auto ring = schedule_counts({Collective::all_reduce, Algorithm::ring, 5, 100});
  EXPECT_EQ(ring.rounds, 8);
  EXPECT_EQ(ring.fan_in, 1);
  const auto master = schedule_counts({Collective::all_reduce, Algorithm::master, 5, 100});
  EXPECT_EQ(master.rounds, 2);
  EXPECT_EQ(master.fan_in, 4);
}

TEST(BusBandwidth, CountsWhatEveryAlgorithmMustMove) {
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::all_reduce, 4, 1000, 1), 1.5);
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::all_gather, 4, 1000, 1), 0.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::broadcast, 4, 1000, 1), 1);
  EXPECT_DOUBLE_EQ(bus_bandwidth(Collective::barrier, 4, 0, 1), 0);
}

}  // namespace
}  // namespace hocket
