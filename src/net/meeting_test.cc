#include "net/meeting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "base/error.h"
#include "net/coordinator_server.h"
#include "net/job_key.h"
#include "net/tcp_stream.h"

namespace hocket {
namespace {

// A launcher with its coordinator, and ranks as threads.
class Launched {
 public:
  explicit Launched(int size)
      : size_(size),
        key_(random_key()),
        key_file_(descriptor_with_key(key_)),
        server_(std::make_unique<CoordinatorServer>(
            CoordinatorOptions{.world_size = size, .join_timeout = Seconds(20)},
            Listener(listen_at({"127.0.0.1", 0}), key_, {}, quiet()), key_, quiet())) {}

  static Log quiet() {
    return [](std::string_view) {};
  }
  Environment environment(Rank rank) const {
    Environment environment;
    environment.source = Environment::Source::hocket_launch;
    environment.rank = rank;
    environment.world_size = size_;
    environment.coordinator_host = "127.0.0.1";
    environment.coordinator_port = server_->endpoint().port;
    environment.key_fd = key_file_.get();
    return environment;
  }
  std::vector<std::unique_ptr<Membership>> join_all() const {
    std::vector<std::unique_ptr<Membership>> all(static_cast<std::size_t>(size_));
    std::vector<std::jthread> threads;
    for (Rank rank = 0; rank < size_; ++rank) {
      threads.emplace_back(
          [&, rank] { all[static_cast<std::size_t>(rank)] = join_job(environment(rank), {.log = quiet()}); });
    }
    threads.clear();
    return all;
  }
  CoordinatorServer& server() { return *server_; }

 private:
  int size_;
  JobKey key_;
  FileDescriptor key_file_;
  std::unique_ptr<CoordinatorServer> server_;
};

// Waits until the job has failed, as a collective would.
Health::Failure failure_of(Membership& membership) {
  for (const TimePoint limit = after(Seconds(10)); !membership.health().failed() && Clock::now() < limit;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(membership.health().failed());
  return membership.health().failure();
}

TEST(Meeting, EveryRankKnowsAllAndReachesAll) {
  Launched job(3);
  auto members = job.join_all();
  std::vector<std::jthread> threads;
  const std::vector<Rank> all{0, 1, 2};
  for (auto& membership : members) {
    EXPECT_EQ(membership->job().size(), 3);
    EXPECT_EQ(membership->job().members[1].port, members[1]->job().members[1].port);
    threads.emplace_back([&] { EXPECT_EQ(membership->connector().connect(0, all).size(), 3U); });
  }
  threads.clear();
  members.clear();
  EXPECT_FALSE(job.server().failure());
}

TEST(Meeting, AFailureOfOneIsKnownToAllByName) {
  Launched job(4);
  auto members = job.join_all();
  members[3]->health().report({2, "rank 2 sent nonsense to rank 3"});
  for (auto& membership : members) {
    EXPECT_EQ(failure_of(*membership).what, "rank 2 sent nonsense to rank 3");
    EXPECT_EQ(failure_of(*membership).culprit, 2);
  }
}

TEST(Meeting, AnErrorThatUnwindsIsTold) {
  Launched job(2);
  auto members = job.join_all();
  try {
    const std::unique_ptr<Membership> mine = std::move(members[1]);
    throw DataError("bad file");
  } catch (const DataError&) {
  }
  EXPECT_EQ(failure_of(*members[0]).culprit, 1);
  EXPECT_NE(failure_of(*members[0]).what.find("ended with an error"), std::string::npos);
}

TEST(Meeting, AGoodbyeIsNoFailure) {
  Launched job(2);
  auto members = job.join_all();
  members[1].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(members[0]->health().failed());
  EXPECT_FALSE(job.server().failure());
}

TEST(Meeting, HowAProcessEndedReachesAll) {
  Launched job(2);
  auto members = job.join_all();
  job.server().report_exit(1, "was killed by signal 9");
  EXPECT_NE(failure_of(*members[0]).what.find("was killed by signal 9"), std::string::npos);
}

TEST(Meeting, AWrongKeyIsRefusedAndChangesNothing) {
  Launched job(1);
  Environment stranger = job.environment(0);
  const FileDescriptor other(descriptor_with_key(random_key()));
  stranger.key_fd = other.get();
  EXPECT_THROW(join_job(stranger, {.timeout = Seconds(0.3), .log = Launched::quiet()}), NetError);
  EXPECT_EQ(job.join_all().size(), 1U);
}

TEST(Meeting, TorchrunVariablesMeetThroughAFileOnOneHost) {
  char folder[] = "/tmp/hocket-meeting-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  ::setenv("XDG_RUNTIME_DIR", folder, 1);
  const std::uint16_t port = local_endpoint(listen_at({"127.0.0.1", 0}).get()).port;
  std::vector<std::unique_ptr<Membership>> all(3);
  std::vector<std::jthread> threads;
  for (Rank rank = 2; rank >= 0; --rank) {
    threads.emplace_back([&, rank] {
      Environment environment;
      environment.source = Environment::Source::torchrun;
      environment.rank = rank;
      environment.world_size = 3;
      environment.coordinator_host = "localhost";
      environment.coordinator_port = port;
      environment.meeting_name = "torchrun localhost " + std::to_string(port);
      all[static_cast<std::size_t>(rank)] = join_job(environment, {.log = Launched::quiet()});
    });
  }
  threads.clear();
  EXPECT_EQ(all[1]->job().key, all[0]->job().key);
  EXPECT_EQ(::rmdir((std::string(folder) + "/hocket").c_str()), 0);  // Nothing is left in it.
  EXPECT_EQ(::rmdir(folder), 0);
  ::unsetenv("XDG_RUNTIME_DIR");
  all[0].reset();  // The coordinator leaves with a goodbye.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(all[1]->health().failed());
}

TEST(Meeting, TheCoordinatorsEndIsNoticedByName) {
  // A coordinator that welcomes its one rank and vanishes.
  const JobKey key = random_key();
  const FileDescriptor key_file(descriptor_with_key(key));
  Listener listener(listen_at({"127.0.0.1", 0}), key, {}, Launched::quiet());
  Environment environment;
  environment.source = Environment::Source::hocket_launch;
  environment.world_size = 1;
  environment.coordinator_host = "127.0.0.1";
  environment.coordinator_port = listener.endpoint().port;
  environment.key_fd = key_file.get();
  std::unique_ptr<Membership> member;
  std::jthread joining([&] { member = join_job(environment, {.log = Launched::quiet()}); });
  std::vector<Accepted> accepted;
  while (accepted.empty()) accepted = listener.progress(Clock::now());
  FramedStream line(std::make_unique<TcpStream>(std::move(accepted[0].socket)));
  line.send(encode(Welcome{{Member{"here", "127.0.0.1", 1, "id", 1}}}));
  joining.join();
  { const FramedStream vanishing = std::move(line); }
  EXPECT_NE(failure_of(*member).what.find("the launcher (127.0.0.1:"), std::string::npos);
}

TEST(Meeting, AnExchangeIsEnough) {
  // What MPI or PMI would do: everyone waits for everyone, three times.
  struct Board {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::vector<std::vector<std::byte>>> rounds;
  } board;
  constexpr int kSize = 3;
  const auto exchange_for = [&](Rank rank) -> Exchange {
    return [&board, rank, round = std::size_t{0}](std::span<const std::byte> mine) mutable {
      std::unique_lock lock(board.mutex);
      if (board.rounds.size() <= round)
        board.rounds.resize(round + 1, std::vector<std::vector<std::byte>>(kSize));
      board.rounds[round][static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
      board.rounds[round][static_cast<std::size_t>(rank)].push_back(std::byte{1});
      board.changed.notify_all();
      while (true) {
        bool is_full = true;
        for (const auto& each : board.rounds[round]) is_full = is_full && !each.empty();
        if (is_full) break;
        board.changed.wait(lock);
      }
      auto all = board.rounds[round++];
      for (auto& each : all) each.pop_back();
      return all;
    };
  };
  std::vector<std::unique_ptr<Membership>> all(kSize);
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < kSize; ++rank) {
    threads.emplace_back([&, rank] {
      Environment environment;
      environment.source = Environment::Source::mpi;
      environment.rank = rank;
      environment.world_size = kSize;
      all[static_cast<std::size_t>(rank)] =
          join_job(environment, {.exchange = exchange_for(rank), .log = Launched::quiet()});
    });
  }
  threads.clear();
  EXPECT_EQ(all[2]->job().key, all[0]->job().key);
}

TEST(Meeting, OneProcessNeedsNobody) {
  const auto alone = join_job(Environment{});
  EXPECT_EQ(alone->job().size(), 1);
  const std::vector<Rank> members{0};
  EXPECT_EQ(alone->connector().connect(0, members).size(), 1U);
}

}  // namespace
}  // namespace hocket
