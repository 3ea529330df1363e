#include "cli/slurm/slurm_queue.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

TEST(SlurmQueue, ReadsWhatSqueuePrints) {
  const auto jobs = parse_squeue(
      "3|RUNNING|None|node7|1-02:03:04|0|4294901757|\n"
      "12|PENDING|Resources||0:00|2|4294901756|\n"
      "13|PENDING|job requeued in held state||0:00|1|0|\n"
      "14|COMPLETING|None|node7|2:05|0|10|\n"
      "15_[1-3]|PENDING|None||0:00|0|10|\n"
      "16|NODE_FAIL|NodeDown|node8|INVALID|0|10|\n");
  ASSERT_EQ(jobs.size(), 5U);
  EXPECT_EQ(jobs.at(3).state, JobState::running);
  EXPECT_EQ(jobs.at(3).machine, "node7");
  EXPECT_EQ(jobs.at(3).seconds, 86400 + 2 * 3600 + 3 * 60 + 4);
  EXPECT_EQ(jobs.at(3).reason, "");
  EXPECT_EQ(jobs.at(12).state, JobState::waiting);
  EXPECT_FALSE(jobs.at(12).is_held);
  EXPECT_EQ(jobs.at(12).reason, "Resources");
  EXPECT_EQ(jobs.at(12).restarts, 2);
  EXPECT_TRUE(jobs.at(13).is_held);
  EXPECT_EQ(jobs.at(14).state, JobState::stopping);
  EXPECT_EQ(jobs.at(14).seconds, 125);
  EXPECT_EQ(jobs.at(16).state, JobState::failed);
  EXPECT_EQ(jobs.at(16).seconds, 0);
}

TEST(SlurmQueue, EveryStateOfSlurmIsOneOfOurs) {
  EXPECT_EQ(state_of("COMPLETED"), JobState::done);
  EXPECT_EQ(state_of("CANCELLED by 1000"), JobState::cancelled);
  for (const char* word :
       {"FAILED", "TIMEOUT", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED", "what is new"})
    EXPECT_EQ(state_of(word), JobState::failed) << word;
  for (const char* word : {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD"})
    EXPECT_EQ(state_of(word), JobState::waiting) << word;
}

TEST(SlurmQueue, AnAnswerThatIsNoneIsAnError) {
  EXPECT_TRUE(parse_squeue("").empty());
  EXPECT_THROW(parse_squeue("slurm_load_jobs error"), DataError);
}

}  // namespace
}  // namespace hocket
