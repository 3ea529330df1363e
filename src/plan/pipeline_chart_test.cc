#include "plan/pipeline_chart.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

PipelineReplay replay_for_chart(PipelineSchedule schedule, const PipelineShape& shape) {
  PartCost cost;
  cost.forward = Seconds(1);
  cost.backward = Seconds(2);
  return replay_pipeline(schedule, shape,
                         std::vector<PartCost>(static_cast<std::size_t>(shape.parts()), cost));
}

TEST(PipelineChart, ShowsWhatEveryStageDoesWhen) {
  EXPECT_EQ(chart_of(replay_for_chart(PipelineSchedule::one_f_one_b, {2, 3})),
            "stage 0   F0 F1 .. .. B0 == F2 B1 == .. B2 ==\n"
            "stage 1   .. F0 B0 == F1 B1 == F2 B2 == .. ..\n");
}

TEST(PipelineChart, NamesTheChunksOfAnInterleavedSchedule) {
  EXPECT_EQ(chart_of(replay_for_chart(PipelineSchedule::interleaved, {1, 1, 2})),
            "stage 0   F0   F0.1 B0.1 ==== B0   ====\n");
}

TEST(PipelineChart, ColumnsGrowWhereTheLineWouldBeTooWide) {
  const std::string chart = chart_of(replay_for_chart(PipelineSchedule::gpipe, {2, 16}), 40);
  EXPECT_LE(chart.find('\n'), 10U + 40U);
}

}  // namespace
}  // namespace hocket
