#include "cli/progress.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

StepRecord halfway() {
  StepRecord record;
  record.step = 50;
  record.total_steps = 100;
  record.epoch = 1.5;
  record.loss = 0.25;
  record.learning_rate = 0.05;
  record.samples_per_second = 12345;
  return record;
}

TEST(ProgressLine, ShowsEverythingWhereThereIsRoom) {
  EXPECT_EQ(progress_line(halfway(), 65, 120, false),
            "[==============>             ] step 50/100  loss 0.2500  1 min 5 s left  epoch 1.50  12,345 "
            "samples/s  lr 0.05");
}

TEST(ProgressLine, NeverExceedsTheTerminal) {
  for (int columns = 1; columns < 200; ++columns) {
    EXPECT_LE(progress_line(halfway(), 65, columns, false).size(),
              static_cast<std::size_t>(std::max(columns, 2)))
        << columns;
  }
}

TEST(ProgressLine, SaysWhereTimesAreEmulated) {
  StepRecord record = halfway();
  record.is_emulated = true;
  EXPECT_EQ(progress_line(record, 65, 40, false), "step 50/100  loss 0.2500  emulated");
}

TEST(ProgressLine, LeavesOutTheLeastImportantFirst) {
  EXPECT_EQ(progress_line(halfway(), 65, 30, false), "step 50/100  loss 0.2500");
}

}  // namespace
}  // namespace hocket
