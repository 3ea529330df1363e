#include "net/running.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "net/socket.h"

namespace hocket {
namespace {

Member process(pid_t pid) {
  Member member;
  member.host_id = this_host_id();
  member.pid = pid;
  return member;
}

TEST(Running, IsWhoIsNeitherStoppedNorEndedNorElsewhere) {
  EXPECT_TRUE(is_running_here(process(::getpid())));
  Member elsewhere = process(::getpid());
  elsewhere.host_id = "another";
  EXPECT_FALSE(is_running_here(elsewhere));
  EXPECT_FALSE(is_running_here(process(0)));

  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  EXPECT_TRUE(is_running_here(process(child)));
  ::kill(child, SIGSTOP);
  ASSERT_EQ(::waitpid(child, nullptr, WUNTRACED), child);
  EXPECT_FALSE(is_running_here(process(child)));
  ::kill(child, SIGKILL);
  siginfo_t ended = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_running_here(process(child)));  // A zombie.
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_running_here(process(child)));
}

}  // namespace
}  // namespace hocket
