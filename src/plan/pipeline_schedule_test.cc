#include "plan/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace hocket {
namespace {

using testing::HasSubstr;

// "F0 F1 B0 U", with the chunk behind a dot and the version behind a slash where there are several.
std::string text_of(const std::vector<PipelineAction>& actions, const PipelineShape& shape, bool versions) {
  std::string text;
  for (const PipelineAction& action : actions) {
    if (!text.empty()) text += ' ';
    text += "FBU"[static_cast<int>(action.kind)];
    text += std::to_string(action.micro_batch);
    if (shape.chunks > 1 && action.kind != ActionKind::update) text += '.' + std::to_string(action.chunk);
    if (versions) text += '/' + std::to_string(action.version);
  }
  return text;
}

std::string text_of(PipelineSchedule schedule, const PipelineShape& shape, int stage) {
  return text_of(pipeline_actions(schedule, shape, stage), shape, schedule == PipelineSchedule::pipedream);
}

std::string refusal_of(PipelineSchedule schedule, const PipelineShape& shape) {
  try {
    check_shape(schedule, shape);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(PipelineSchedule, SchedulesAreWhatTheirPapersSay) {
  EXPECT_EQ(text_of(PipelineSchedule::naive, {2, 2}, 0), "F0 B0 F1 B1 U1");
  EXPECT_EQ(text_of(PipelineSchedule::gpipe, {2, 3}, 0), "F0 F1 F2 B0 B1 B2 U2");
  EXPECT_EQ(text_of(PipelineSchedule::one_f_one_b, {3, 4}, 0), "F0 F1 F2 B0 F3 B1 B2 B3 U3");
  EXPECT_EQ(text_of(PipelineSchedule::one_f_one_b, {3, 4}, 2), "F0 B0 F1 B1 F2 B2 F3 B3 U3");
  EXPECT_EQ(text_of(PipelineSchedule::interleaved, {2, 2, 2}, 0),
            "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0 U1");
  EXPECT_EQ(text_of(PipelineSchedule::interleaved, {2, 2, 2}, 1),
            "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0 U1");
}

TEST(PipelineSchedule, PipedreamGoesBackWithTheWeightsItWentForwardWith) {
  EXPECT_EQ(text_of(PipelineSchedule::pipedream, {2, 4}, 0),
            "F0/0 F1/0 B0/0 U0/1 F2/1 B1/0 U1/2 F3/2 B2/1 U2/3 B3/2 U3/4");
  EXPECT_EQ(text_of(PipelineSchedule::pipedream, {2, 4}, 1),
            "F0/0 B0/0 U0/1 F1/1 B1/1 U1/2 F2/2 B2/2 U2/3 F3/3 B3/3 U3/4");
}

TEST(PipelineSchedule, VerticalSyncShowsAMicroBatchOneVersionEverywhere) {
  const PipelineShape shape{.stages = 4, .micro_batches = 12, .vertical_sync = true};
  for (int stage = 0; stage < shape.stages; ++stage) {
    for (const PipelineAction& action : pipeline_actions(PipelineSchedule::pipedream, shape, stage)) {
      if (action.kind == ActionKind::update) continue;
      EXPECT_EQ(action.version, std::max(0, action.micro_batch - 3)) << "stage " << stage;
    }
  }
}

TEST(PipelineSchedule, ActivationsInFlightAreCounted) {
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(most_in_flight(pipeline_actions(PipelineSchedule::naive, {4, 8}, stage)), 1);
    EXPECT_EQ(most_in_flight(pipeline_actions(PipelineSchedule::gpipe, {4, 8}, stage)), 8);
    EXPECT_EQ(most_in_flight(pipeline_actions(PipelineSchedule::one_f_one_b, {4, 8}, stage)), 4 - stage);
    EXPECT_EQ(most_in_flight(pipeline_actions(PipelineSchedule::pipedream, {4, 8}, stage)), 4 - stage);
  }
  const auto interleaved = pipeline_actions(PipelineSchedule::interleaved, {4, 8, 2}, 0);
  EXPECT_EQ(most_in_flight(interleaved), 11);
  EXPECT_EQ(most_in_flight(interleaved, 0), 8);
  EXPECT_EQ(most_in_flight(interleaved, 1), 4);
}

TEST(PipelineSchedule, StashedVersionsAreCounted) {
  for (int stage = 0; stage < 4; ++stage) {
    PipelineShape shape{4, 20};
    EXPECT_EQ(versions_kept(pipeline_actions(PipelineSchedule::one_f_one_b, shape, stage)), 1);
    EXPECT_EQ(versions_kept(pipeline_actions(PipelineSchedule::pipedream, shape, stage)), 4 - stage);
    shape.vertical_sync = true;
    EXPECT_EQ(versions_kept(pipeline_actions(PipelineSchedule::pipedream, shape, stage)), 4);
  }
}

TEST(PipelineSchedule, NamesAreReadBack) {
  for (const PipelineSchedule schedule : all_pipeline_schedules()) {
    EXPECT_EQ(parse_pipeline_schedule(name_of(schedule)), schedule);
  }
  try {
    parse_pipeline_schedule("1f1g");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "unknown pipeline schedule '1f1g'; did you mean 1f1b?");
  }
}

TEST(PipelineSchedule, ImpossibleShapesAreRefusedInOneLine) {
  EXPECT_THAT(refusal_of(PipelineSchedule::interleaved, {4, 6, 2}),
              HasSubstr("4 stages do not divide 6 micro-batches"));
  EXPECT_THAT(refusal_of(PipelineSchedule::interleaved, {4, 8, 1}), HasSubstr("at least 2 chunks"));
  EXPECT_THAT(refusal_of(PipelineSchedule::gpipe, {4, 8, 2}), HasSubstr("only interleaved"));
  EXPECT_THAT(refusal_of(PipelineSchedule::gpipe, {4, 0}), HasSubstr("0 micro-batches"));
  EXPECT_THAT(refusal_of(PipelineSchedule::gpipe, {.stages = 2, .micro_batches = 2, .vertical_sync = true}),
              HasSubstr("vertical sync"));
  EXPECT_EQ(refusal_of(PipelineSchedule::interleaved, {4, 8, 3}), "");
}

}  // namespace
}  // namespace hocket
