#include "collective/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/run_ranks.h"

namespace hocket {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Tuner, EveryRankChoosesTheSameAndTheGroupKeepsToIt) {
  std::vector<std::string> tables(4);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    const int hosts[] = {0, 0, 1, 1};
    const Topology topology = measure_topology(group, hosts);
    EXPECT_EQ(topology.count(Level::host), 2);
    Tuner tuner(group, topology, ReduceOrder::any);
    for (const std::size_t bytes : {4096, 65536, 1 << 20}) tuner.tune(Collective::all_reduce, bytes);
    tables[static_cast<std::size_t>(group.rank())] = tuner.table().text();
    std::vector<float> data(1000, 1);
    group.all_reduce(std::span(data));
    EXPECT_THAT(data, Each(4));
    const auto chosen = tuner.table().find(Collective::all_reduce, 4000);
    ASSERT_TRUE(chosen);
    EXPECT_THAT(group.flight_record(), HasSubstr("1000 f32, sum, " + std::string(name_of(*chosen))));
    EXPECT_THAT(tuner.explanation(), HasSubstr(std::string(name_of(*chosen))));
  };
  EXPECT_THAT(run_ranks(4, body, Medium::hosts), Each(IsEmpty()));
  EXPECT_THAT(tables, Each(tables.front()));
  EXPECT_THAT(tables.front(), HasSubstr("all_reduce"));
}

TEST(Tuner, InRankOrderOnlyAlgorithmsThatKeepItAreChosen) {
  const auto body = [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    const int hosts[] = {0, 1, 2};
    Tuner tuner(group, measure_topology(group, hosts), ReduceOrder::rank);
    tuner.tune(Collective::all_reduce, 100'000);
    EXPECT_TRUE(keeps_rank_order(*tuner.table().find(Collective::all_reduce, 100'000)));
  };
  EXPECT_THAT(run_ranks(3, body, Medium::tcp), Each(IsEmpty()));
}

TEST(Tuner, ATableOfAnotherWorldIsRefused) {
  const auto body = [](std::unique_ptr<Transport> transport) {
    Group group(std::move(transport));
    Tuner tuner(group, uniform_topology(2), ReduceOrder::any);
    EXPECT_ANY_THROW(tuner.restore(ChoiceTable(3, ReduceOrder::any)));
    tuner.restore(ChoiceTable(2, ReduceOrder::any));
  };
  EXPECT_THAT(run_ranks(2, body), Each(IsEmpty()));
}

}  // namespace
}  // namespace hocket
