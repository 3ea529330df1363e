#include "cli/launch/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

namespace hocket {
namespace {

TimePoint at(double seconds) {
  return TimePoint() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

TEST(Supervisor, EndsQuietlyWhenAllRanksDo) {
  Supervisor supervisor({.world_size = 2});
  supervisor.on_exit(1, 0, at(1));
  EXPECT_FALSE(supervisor.is_over());
  EXPECT_EQ(supervisor.take_signal(at(100)), std::nullopt);
  supervisor.on_exit(0, 0, at(200));
  EXPECT_TRUE(supervisor.is_over());
  EXPECT_EQ(supervisor.first_failure(), std::nullopt);
}

TEST(Supervisor, TheFirstFailureWinsAndTheOthersGetTimeForLastWords) {
  Supervisor supervisor({.world_size = 4});
  supervisor.on_exit(2, SIGKILL, at(10));
  supervisor.on_exit(0, W_EXITCODE(4, 0), at(10.1));
  EXPECT_EQ(supervisor.first_failure(), 2);
  EXPECT_EQ(supervisor.take_signal(at(11.4)), std::nullopt);
  EXPECT_EQ(supervisor.next_deadline(at(20)), at(11.5));
  EXPECT_EQ(supervisor.take_signal(at(11.5)), SIGTERM);
  EXPECT_EQ(supervisor.take_signal(at(12)), std::nullopt);
  EXPECT_EQ(supervisor.take_signal(at(13)), SIGKILL);
  supervisor.on_exit(1, SIGKILL, at(13.1));
  supervisor.on_exit(3, SIGKILL, at(13.1));
  EXPECT_TRUE(supervisor.is_over());
  EXPECT_TRUE(supervisor.has_failed(0));
  EXPECT_FALSE(supervisor.has_failed(1));  // It was ended.
}

TEST(Supervisor, AReportedFailureEndsRanksThatHang) {
  Supervisor supervisor({.world_size = 2});
  supervisor.on_job_failure(at(5));
  supervisor.on_job_failure(at(6));  // Said again at every look.
  EXPECT_EQ(supervisor.take_signal(at(6.5)), SIGTERM);
  supervisor.on_exit(0, SIGTERM, at(6.6));
  EXPECT_EQ(supervisor.first_failure(), std::nullopt);
}

TEST(Supervisor, CtrlCIsPassedOnAndTheSecondIsUrgent) {
  Supervisor supervisor({.world_size = 2});
  supervisor.on_interrupt(SIGINT, at(1));
  EXPECT_EQ(supervisor.take_signal(at(1)), SIGINT);
  EXPECT_EQ(supervisor.take_signal(at(10)), std::nullopt);  // They save their work.
  supervisor.on_interrupt(SIGINT, at(11));
  EXPECT_EQ(supervisor.take_signal(at(11)), SIGKILL);
  EXPECT_EQ(supervisor.interrupt(), SIGINT);
}

TEST(Supervisor, CtrlCDoesNotWaitForever) {
  Supervisor supervisor({.world_size = 1});
  supervisor.on_interrupt(SIGTERM, at(1));
  EXPECT_EQ(supervisor.take_signal(at(1)), SIGTERM);
  EXPECT_EQ(supervisor.take_signal(at(16)), SIGKILL);
}

}  // namespace
}  // namespace hocket
