#include "cli/bench/step_rows.h"

#include <gtest/gtest.h>

#include "cli/bench/step_goals.h"
#include "cli/bench/step_table.h"

namespace hocket {
namespace {

StepRow step_row(std::string model, int workers, std::string peer, std::vector<double> samples) {
  StepRow row;
  row.model = std::move(model);
  row.workers = workers;
  row.peer = std::move(peer);
  row.unit = "samples/s";
  row.samples = std::move(samples);
  row.items_per_second = spread_of(row.samples);
  return row;
}

// Ours gets slower from round to round, as does the machine.
std::vector<StepRow> scaling_rows() {
  return {step_row("mlp", 1, "hocket", {100, 50, 20}), step_row("mlp", 2, "hocket", {190, 95, 38}),
          step_row("mlp", 1, "torch", {60, 30, 12}), step_row("mlp", 1, "torch-best", {80, 40, 16}),
          step_row("mlp", 2, "torch-ddp", {40, 20, 8})};
}

TEST(StepRows, FindsTheRowBeside) {
  const std::vector<StepRow> rows = scaling_rows();
  EXPECT_EQ(find_beside(rows, rows[4], 2, "hocket"), &rows[1]);
  EXPECT_EQ(find_beside(rows, rows[1], 1, "hocket"), &rows[0]);
  EXPECT_EQ(find_beside(rows, rows[0], 1, "torch-ddp"), nullptr);
}

TEST(StepRows, EfficiencyComparesWithOneWorkerOfTheSameRound) {
  const std::vector<StepRow> rows = scaling_rows();
  EXPECT_FALSE(scaling_efficiency(rows, rows[0]));
  EXPECT_DOUBLE_EQ(scaling_efficiency(rows, rows[1]).value().median, 0.95);
  EXPECT_DOUBLE_EQ(scaling_efficiency(rows, rows[1]).value().p10, 0.95);
}

TEST(StepRows, EfficiencyOfDdpIsAgainstTorchAtItsBest) {
  std::vector<StepRow> rows = scaling_rows();
  EXPECT_DOUBLE_EQ(scaling_efficiency(rows, rows[4]).value().median, 0.25);
  rows.erase(rows.begin() + 3);
  EXPECT_FALSE(scaling_efficiency(rows, rows[3]));
}

// What the machine gives to workers that need not agree bounds what those can reach that do.
TEST(StepRows, EfficiencyOfUnrelatedWorkersIsAgainstOneToo) {
  std::vector<StepRow> rows = scaling_rows();
  rows.push_back(step_row("mlp", 2, "unrelated", {196, 98, 39.2}));
  EXPECT_DOUBLE_EQ(scaling_efficiency(rows, rows.back()).value().median, 0.98);
  EXPECT_EQ(judge(rows).size(), 2U);
}

TEST(StepGoals, JudgeEfficiencyAndTheRatioToDdp) {
  const std::vector<StepRow> rows = scaling_rows();
  const std::vector<StepGoalResult> results = judge(rows);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_TRUE(results[0].goal.peer.empty() && results[0].holds());
  EXPECT_EQ(results[1].goal.peer, "torch-ddp");
  EXPECT_DOUBLE_EQ(results[1].reached.median, 4.75);
  EXPECT_TRUE(results[1].holds());
}

TEST(StepGoals, SayNothingOfOneWorker) {
  const std::vector<StepRow> rows{step_row("mlp", 1, "hocket", {1})};
  EXPECT_TRUE(judge(rows).empty());
}

TEST(StepTable, ShowsRatiosEfficiencyAndGoals) {
  const std::string table = rows_as_table(scaling_rows());
  EXPECT_NE(table.find("4.75 (4.75 - 4.75)"), std::string::npos) << table;
  EXPECT_NE(table.find("2 workers of hocket reach 0.95"), std::string::npos) << table;
  EXPECT_NE(table.find("2 workers of torch-ddp reach 0.25"), std::string::npos) << table;
  EXPECT_NE(table.find("holds mlp"), std::string::npos) << table;
}

}  // namespace
}  // namespace hocket
