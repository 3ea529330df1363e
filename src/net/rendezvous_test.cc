#include "net/rendezvous.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

using std::chrono::milliseconds;

// A job under virtual time: the connection of a rank is its number plus 100; what it hears is kept.
class World final : public Coordinator::Outbox {
 public:
  explicit World(int size, Seconds cause_grace = Seconds(0))
      : coordinator({.world_size = size,
                     .cause_grace = cause_grace,
                     .is_running = [this](const Member& member) { return member.pid == running; }},
                    *this),
        heard(static_cast<std::size_t>(size)),
        is_alive(static_cast<std::size_t>(size), true) {}

  void send(Coordinator::Connection to, const ControlMessage& message) override {
    if (to >= 100 && to - 100 < heard.size()) heard[to - 100].push_back(message);
    if (to == 99) stranger.push_back(message);
  }

  void join(Rank rank, int world_size = -1) {
    const int claimed = world_size < 0 ? static_cast<int>(heard.size()) : world_size;
    say(rank, Join{claimed, {"host", "10.0.0.1", 1, "id", 1000 + rank}});
  }
  void join_all() {
    for (Rank rank = 0; rank < static_cast<Rank>(heard.size()); ++rank) join(rank);
  }
  void say(Rank rank, const ControlMessage& message) {
    coordinator.on_message(connection(rank), rank, message, now);
  }
  void kill(Rank rank) {
    is_alive[static_cast<std::size_t>(rank)] = false;
    coordinator.on_closed(connection(rank), "peer closed the connection", now);
  }
  void stop(Rank rank) { is_alive[static_cast<std::size_t>(rank)] = false; }

  // Time goes by; those who are alive beat.
  void wait(Seconds time) {
    const TimePoint until = now + std::chrono::duration_cast<Clock::duration>(time);
    for (int i = 0; now < until; ++i) {
      now += milliseconds(100);
      for (std::size_t r = 0; i % 5 == 0 && r < is_alive.size(); ++r) {
        if (is_alive[r]) say(static_cast<Rank>(r), Beat{});
      }
      coordinator.on_tick(now);
    }
  }

  template <typename Message>
  std::vector<Message> all(Rank rank) const {
    std::vector<Message> found;
    for (const ControlMessage& message : heard[static_cast<std::size_t>(rank)]) {
      if (const auto* one = std::get_if<Message>(&message)) found.push_back(*one);
    }
    return found;
  }
  std::string what_failed(Rank rank) const {
    const auto failed = all<Failed>(rank);
    return failed.size() == 1 ? failed[0].failure.what : std::to_string(failed.size()) + " reports";
  }
  static Coordinator::Connection connection(Rank rank) {
    return static_cast<Coordinator::Connection>(rank) + 100;
  }

  int running = 0;  // Whose process is seen to run.
  Coordinator coordinator;
  TimePoint now{};
  std::vector<std::vector<ControlMessage>> heard;
  std::vector<ControlMessage> stranger;
  std::vector<bool> is_alive;
};

TEST(Coordinator, TellsEveryRankWhereAllAre) {
  World world(3);
  world.join(2);
  world.join(0);
  EXPECT_TRUE(world.all<Welcome>(0).empty());
  world.join(1);
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto welcome = world.all<Welcome>(rank);
    ASSERT_EQ(welcome.size(), 1U);
    for (Rank other = 0; other < 3; ++other) {
      EXPECT_EQ(welcome[0].members[static_cast<std::size_t>(other)].pid, 1000 + other);
    }
  }
}

TEST(Coordinator, NamesTheRanksThatDoNotCome) {
  World world(4);
  world.join(1);
  world.join(3);
  world.wait(Seconds(59));
  EXPECT_TRUE(world.all<Rejected>(1).empty());
  world.wait(Seconds(2));
  for (const Rank rank : {1, 3}) {
    ASSERT_EQ(world.all<Rejected>(rank).size(), 1U);
    EXPECT_EQ(world.all<Rejected>(rank)[0].why, "ranks 0, 2 of 4 did not join within 60 s");
  }
  world.join(0);  // Too late, and told so.
  EXPECT_EQ(world.all<Rejected>(0).size(), 1U);
}

TEST(Coordinator, WaitsForeverForProgramsThatNeverJoin) {
  World world(2);
  world.wait(Seconds(1000));
  EXPECT_FALSE(world.coordinator.failure());
}

TEST(Coordinator, RefusesAnotherWorldSizeForAll) {
  World world(3);
  world.join(0);
  world.join(1, 4);
  for (const Rank rank : {0, 1}) {
    ASSERT_EQ(world.all<Rejected>(rank).size(), 1U);
    EXPECT_EQ(world.all<Rejected>(rank)[0].why,
              "rank 1 (pid 1001 on host) was started with a world of 4 ranks, the job has 3");
  }
}

TEST(Coordinator, RefusesADuplicateAndKeepsTheFirst) {
  World world(2);
  world.join(0);
  world.coordinator.on_message(99, 0, Join{2, {}}, world.now);
  ASSERT_EQ(world.stranger.size(), 1U);
  EXPECT_NE(std::get<Rejected>(world.stranger[0]).why.find("has already joined"), std::string::npos);
  world.coordinator.on_closed(99, "closed", world.now);
  world.join(1);
  EXPECT_EQ(world.all<Welcome>(0).size(), 1U);
  world.coordinator.on_message(99, 7, Join{2, {}}, world.now);
  EXPECT_NE(std::get<Rejected>(world.stranger[1]).why.find("not in a job of 2"), std::string::npos);
}

TEST(Coordinator, ARankThatEndsBeforeAllHaveJoinedEndsTheMeeting) {
  World world(3);
  world.join(0);
  world.join(1);
  world.kill(1);
  ASSERT_EQ(world.all<Rejected>(0).size(), 1U);
  EXPECT_NE(world.all<Rejected>(0)[0].why.find("rank 1 (pid 1001 on host) ended"), std::string::npos);

  World other(3);
  other.coordinator.on_exit(2, "ended with exit code 1", other.now);
  other.join(0);
  ASSERT_EQ(other.all<Rejected>(0).size(), 1U);
  EXPECT_EQ(other.all<Rejected>(0)[0].why, "rank 2 ended with exit code 1 before it joined");
}

TEST(Coordinator, TellsAllAtOnceOfARankThatWasKilled) {
  World world(4);
  world.join_all();
  world.wait(Seconds(10));
  EXPECT_FALSE(world.coordinator.failure());
  world.kill(2);
  for (const Rank rank : {0, 1, 3}) {
    EXPECT_EQ(world.what_failed(rank),
              "rank 2 (pid 1002 on host) ended without a goodbye: peer closed the connection");
  }
}

TEST(Coordinator, TellsAllOfASilentRankInTimeAndOnlyThen) {
  World world(3);
  world.join_all();
  world.wait(Seconds(5));
  world.stop(1);
  world.wait(Seconds(2));
  EXPECT_FALSE(world.coordinator.failure());
  world.wait(Seconds(1.1));
  EXPECT_EQ(world.what_failed(0), "rank 1 (pid 1001 on host) has been silent for 2.5 s");
  EXPECT_EQ(world.what_failed(1), world.what_failed(0));  // Should it wake again.
}

TEST(Coordinator, GivesARankThatIsSeenToRunMoreTime) {
  World world(2);
  world.join_all();
  world.running = 1001;
  world.stop(1);  // A busy machine does not let it beat.
  world.wait(Seconds(14));
  EXPECT_FALSE(world.coordinator.failure());
  world.say(1, Beat{});
  world.wait(Seconds(14));
  EXPECT_FALSE(world.coordinator.failure());
  world.wait(Seconds(1.1));
  EXPECT_EQ(world.what_failed(0), "rank 1 (pid 1001 on host) has been silent for 15 s");
}

TEST(Coordinator, DoesNotHoldItsOwnSleepAgainstOthers) {
  World world(2);
  world.join_all();
  world.wait(Seconds(1));
  world.now += std::chrono::seconds(60);  // SIGSTOP, SIGCONT.
  world.coordinator.on_tick(world.now);
  world.wait(Seconds(1));
  EXPECT_FALSE(world.coordinator.failure());
}

TEST(Coordinator, TheFirstCulpritCountsAndTheMessengerIsNotBlamed) {
  World world(4);
  world.join_all();
  world.say(1, Failed{{3, "rank 3 sent nonsense"}});
  world.kill(1);
  world.say(2, Failed{{1, "rank 1 closed the connection"}});
  for (const Rank rank : {0, 2, 3}) EXPECT_EQ(world.what_failed(rank), "rank 3 sent nonsense");
}

TEST(Coordinator, AGoodbyeIsNoDeath) {
  World world(2);
  world.join_all();
  world.say(1, Goodbye{});
  world.kill(1);
  world.coordinator.on_exit(1, "ended with exit code 0", world.now);
  world.wait(Seconds(10));
  EXPECT_FALSE(world.coordinator.failure());
  EXPECT_EQ(world.coordinator.present(), 1);
}

TEST(Coordinator, WaitsForTheCauseOfDeathButNotForLong) {
  World world(3, Seconds(0.2));
  world.join_all();
  world.kill(1);
  world.say(0, Failed{{1, "rank 1 closed the connection"}});
  EXPECT_FALSE(world.coordinator.failure());
  world.coordinator.on_exit(1, "was killed by signal 9", world.now);
  EXPECT_EQ(world.what_failed(2), "rank 1 (pid 1001 on host) was killed by signal 9");

  World uninformed(3, Seconds(0.2));
  uninformed.join_all();
  uninformed.kill(1);
  uninformed.wait(Seconds(0.3));
  EXPECT_TRUE(uninformed.coordinator.failure());
}

TEST(Coordinator, WhatARankSaidLastCountsMoreThanItsExit) {
  World world(3, Seconds(0.2));
  world.join_all();
  world.coordinator.on_exit(1, "ended with exit code 4", world.now);  // Seen before its last words are read.
  world.say(1, Failed{{2, "rank 2 has been silent"}});
  world.kill(1);
  EXPECT_EQ(world.what_failed(0), "rank 2 has been silent");

  World clean(2, Seconds(0.2));
  clean.join_all();
  clean.coordinator.on_exit(1, "ended with exit code 0", clean.now);
  clean.say(1, Goodbye{});
  clean.kill(1);
  clean.wait(Seconds(1));
  EXPECT_FALSE(clean.coordinator.failure());
}

// Whatever happens, and in whatever order: one failure, the same for all who are left to hear it.
TEST(Coordinator, AllSurvivorsHearTheSameWhateverTheOrder) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const int size = 2 + static_cast<int>(random() % 6);
    World world(size, Seconds(random() % 2 == 0 ? 0.0 : 0.2));
    world.join_all();
    for (int event = 0; event < 6; ++event) {
      const Rank rank = static_cast<Rank>(random() % static_cast<unsigned>(size));
      if (!world.is_alive[static_cast<std::size_t>(rank)]) continue;
      switch (random() % 6) {
        case 0: world.kill(rank); break;
        case 1: world.stop(rank); break;
        case 2:
          world.say(rank,
                    Failed{{static_cast<Rank>(random() % static_cast<unsigned>(size)), "seen by a rank"}});
          break;
        case 3: world.coordinator.on_exit(rank, "was killed by signal 9", world.now); break;
        default: world.wait(Seconds(0.1 * static_cast<double>(random() % 30)));
      }
    }
    world.wait(Seconds(4));
    for (Rank rank = 0; rank < size; ++rank) {
      if (!world.is_alive[static_cast<std::size_t>(rank)]) continue;
      if (!world.coordinator.failure()) continue;
      const auto failed = world.all<Failed>(rank);
      if (failed.empty()) continue;  // Its exit was announced, so it no longer counts.
      EXPECT_EQ(failed.size(), 1U) << "seed " << seed;
      EXPECT_EQ(failed[0].failure.what, world.coordinator.failure()->what) << "seed " << seed;
    }
  }
}

TEST(Coordinator, WithoutASizeOfItsOwnItBelievesTheFirstRank) {
  World world(0);
  world.heard.resize(2);
  world.join(1, 2);
  EXPECT_FALSE(world.coordinator.all_joined());
  world.join(0, 2);
  EXPECT_TRUE(world.coordinator.all_joined());
}

}  // namespace
}  // namespace hocket
