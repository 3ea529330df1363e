#include "net/mpi_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "net/run_ranks.h"

namespace hocket {

// An MPI of threads: a message that is not small is copied when it is received, from where the sender has it.
struct FakeMpi {
  struct Message {
    std::vector<std::byte> copy;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool is_taken = false;
  };
  struct Transfer {
    std::shared_ptr<Message> sent;  // Of a send.
    std::byte* into = nullptr;      // Of a receive.
    std::tuple<int, int, int> from_to_tag;
    std::size_t room = 0;
  };

  int size = 0;
  int fails_at = -1;  // Which call returns an error.
  std::mutex mutex;
  int calls = 0;
  std::map<std::tuple<int, int, int>, std::deque<std::shared_ptr<Message>>> mail;

  bool fails() { return ++calls == fails_at; }
};

struct MpiWorld {
  FakeMpi& mpi;
  int rank = 0;
  std::map<MpiRequest, FakeMpi::Transfer> transfers = {};
  MpiRequest last = 0;
};

namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

thread_local MpiWorld* this_rank = nullptr;

const char* fake_library() { return "fake MPI"; }
void fake_error_text(int code, char* text, std::size_t bytes) {
  std::snprintf(text, bytes, "fault %d", code);
}
int fake_initialise(MpiWorld** world) {
  *world = this_rank;
  return 0;
}
int fake_finalise(MpiWorld*) { return 0; }
int fake_rank(MpiWorld* world) { return world->rank; }
int fake_size(MpiWorld* world) { return world->mpi.size; }
int fake_largest_tag(MpiWorld*) { return 99; }

int fake_send(MpiWorld* world, const void* data, int bytes, int to, int tag, MpiRequest* request) {
  const std::lock_guard lock(world->mpi.mutex);
  if (world->mpi.fails()) return 7;
  auto message = std::make_shared<FakeMpi::Message>();
  message->data = static_cast<const std::byte*>(data);
  message->bytes = static_cast<std::size_t>(bytes);
  if (bytes <= 4096) {
    message->copy.assign(message->data, message->data + bytes);
    message->data = message->copy.data();
    message->is_taken = true;
  }
  world->mpi.mail[{world->rank, to, tag}].push_back(message);
  *request = ++world->last;
  world->transfers[*request].sent = message;
  return 0;
}

int fake_recv(MpiWorld* world, void* into, int bytes, int from, int tag, MpiRequest* request) {
  const std::lock_guard lock(world->mpi.mutex);
  if (world->mpi.fails()) return 7;
  *request = ++world->last;
  world->transfers[*request] = {
      nullptr, static_cast<std::byte*>(into), {from, world->rank, tag}, static_cast<std::size_t>(bytes)};
  return 0;
}

int fake_test(MpiWorld* world, MpiRequest* request, int* is_done, int* bytes) {
  const std::lock_guard lock(world->mpi.mutex);
  FakeMpi::Transfer& transfer = world->transfers.at(*request);
  if (transfer.sent) {
    *is_done = transfer.sent->is_taken ? 1 : 0;
  } else {
    auto& mail = world->mpi.mail[transfer.from_to_tag];
    *is_done = mail.empty() ? 0 : 1;
    if (!mail.empty()) {
      if (mail.front()->bytes > transfer.room) return 15;
      std::copy_n(mail.front()->data, mail.front()->bytes, transfer.into);
      mail.front()->is_taken = true;
      *bytes = static_cast<int>(mail.front()->bytes);
      mail.pop_front();
    }
  }
  if (*is_done == 0) return 0;
  world->transfers.erase(*request);
  *request = 0;
  return 0;
}

void fake_give_up(MpiWorld* world, MpiRequest* request, int) {
  const std::lock_guard lock(world->mpi.mutex);
  // The sender's memory may go away now.
  for (auto& mail : world->mpi.mail) std::erase(mail.second, world->transfers.at(*request).sent);
  world->transfers.erase(*request);
  *request = 0;
}

constexpr MpiTable kFakeTable = {
    kMpiTableVersion, fake_library, fake_error_text, fake_initialise, fake_finalise, fake_rank, fake_size,
    fake_largest_tag, fake_send,    fake_recv,       nullptr,         nullptr,       fake_test, fake_give_up,
};

using Body = std::function<void(Transport&)>;

// Runs `body` on ranks as threads, all with one view of the job's health. Returns what each threw.
std::vector<std::string> run_over(FakeMpi& mpi, int world, const Body& body, Seconds deadline = Seconds(20)) {
  mpi.size = world;
  Health health;
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      MpiWorld mine{mpi, rank};
      this_rank = &mine;
      MpiPlugin plugin(kFakeTable);
      plugin.abandon();  // No barrier at the end.
      TransportOptions options;
      options.deadline = deadline;
      options.crowded = true;
      try {
        body(*mpi_transport(plugin, health, options));
      } catch (const NetError& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  threads.clear();
  return errors;
}

std::vector<std::string> run_over_mpi(int world, const Body& body, Seconds deadline = Seconds(20)) {
  FakeMpi mpi;
  return run_over(mpi, world, body, deadline);
}

// Messages with the neighbours in a ring: none, small ones, the largest small one, one more, pieces.
void send_around(Transport& t) {
  const std::size_t most = MpiLane::kSmallBytes / sizeof(int);
  const std::size_t piece = MpiLane::kPieceBytes / sizeof(int);
  const std::size_t counts[] = {0, 1, 17, most, most + 1, piece, piece + 1, 7 * piece + 3, 5};
  const Rank next = (t.rank() + 1) % t.size();
  const Rank prev = (t.rank() + t.size() - 1) % t.size();
  std::vector<std::vector<int>> sent;
  std::vector<std::vector<int>> received;
  std::vector<Pending> pending;
  for (const std::size_t count : counts) {
    sent.push_back(numbered(t.rank() * 7, count));
    received.emplace_back(count);
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    pending.push_back(t.send(next, {{i}}, std::as_bytes(std::span(sent[i]))));
    pending.push_back(t.recv(prev, {{i}}, std::as_writable_bytes(std::span(received[i]))));
  }
  for (const Pending& p : pending) t.wait(p);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(received[i], numbered(prev * 7, counts[i])) << i;
}

TEST(MpiTransport, MessagesOfAnySizeArriveInOrder) {
  EXPECT_THAT(run_over_mpi(3, send_around), Each(IsEmpty()));
}

TEST(MpiTransport, ASinkGetsWholeElementsInOrder) {
  for (const std::size_t count : {std::size_t{5}, std::size_t{700'001}}) {
    const auto errors = run_over_mpi(2, [count](Transport& t) {
      const auto values = numbered(1, count);
      if (t.rank() == 0) return t.wait(t.send(1, {}, std::as_bytes(std::span(values))));
      std::vector<std::byte> taken;
      const auto take = [](void* context, std::size_t offset, std::span<const std::byte> bytes) {
        auto& to = *static_cast<std::vector<std::byte>*>(context);
        EXPECT_EQ(offset, to.size());
        EXPECT_EQ(bytes.size() % sizeof(int), 0U);
        to.insert(to.end(), bytes.begin(), bytes.end());
      };
      t.wait(t.recv(0, {}, count * sizeof(int), Sink{take, &taken}));
      EXPECT_EQ(std::memcmp(taken.data(), values.data(), count * sizeof(int)), 0);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST(MpiTransport, ALabelThatDiffersIsAnErrorOnEveryRankThatShowsBoth) {
  for (const std::size_t count : {std::size_t{4}, std::size_t{100'000}}) {
    // MPI may still read and write the buffers of a rank that has failed: they outlive all ranks.
    const std::vector<int> mine(count);
    std::vector<std::vector<int>> received(3, std::vector<int>(count));
    const auto errors = run_over_mpi(3, [&](Transport& t) {
      t.set_label_text([](const Label& label) { return "call " + std::to_string(label.words[0]); });
      std::vector<int>& theirs = received[static_cast<std::size_t>(t.rank())];
      const Label label{{t.rank() == 1 ? 8U : 7U}};
      const Pending send = t.send((t.rank() + 1) % 3, label, std::as_bytes(std::span(mine)));
      t.wait(t.recv((t.rank() + 2) % 3, label, std::as_writable_bytes(std::span(theirs))));
      t.wait(send);
      t.wait(
          t.recv((t.rank() + 2) % 3, label, std::as_writable_bytes(std::span(theirs))));  // Nobody sends it.
    });
    EXPECT_THAT(errors, Each(HasSubstr("call 7")));
    EXPECT_THAT(errors, Each(HasSubstr("call 8")));
  }
}

TEST(MpiTransport, AWaitHasADeadlineThatNamesThePeer) {
  const auto receive = [](Transport& t) {
    std::vector<std::byte> bytes(16);
    t.wait(t.recv(1 - t.rank(), {}, std::span(bytes)));
  };
  EXPECT_THAT(run_over_mpi(2, receive, Seconds(0.05)), Each(HasSubstr("did not answer")));
}

TEST(MpiTransport, ASplitGroupCountsItsOwnRanks) {
  const auto errors = run_over_mpi(4, [](Transport& t) {
    const std::vector<Rank> members = t.rank() % 2 == 0 ? std::vector<Rank>{0, 2} : std::vector<Rank>{1, 3};
    const auto half = t.split(members, 1 + static_cast<unsigned>(t.rank() % 2));
    EXPECT_EQ(half->rank(), t.rank() / 2);
    EXPECT_EQ(half->rank_in_job(half->rank()), t.rank());
    send_around(*half);
    EXPECT_THROW(t.split(members, 100), ConfigError);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(MpiTransport, AnyOneFailureOfMpiIsReportedAndNeverHangs) {
  for (int nth = 1;; ++nth) {
    FakeMpi mpi;
    mpi.fails_at = nth;
    const auto errors = run_over(mpi, 2, [](Transport& t) {
      const std::vector<std::byte> mine(MpiLane::kPieceBytes + 1);
      std::vector<std::byte> theirs(mine.size());
      const Pending send = t.send(1 - t.rank(), {}, mine);
      t.wait(t.recv(1 - t.rank(), {}, std::span(theirs)));
      t.wait(send);
    });
    if (mpi.calls < nth) break;  // Every call has failed once.
    EXPECT_THAT(errors, testing::Contains(HasSubstr("MPI: fault 7"))) << "call " << nth;
  }
}

TEST(MpiLibrary, IsLookedForWhereItBelongs) {
  const auto paths = mpi_library_paths("/opt/h/bin/hocket", std::nullopt);
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_EQ(paths[0], "/opt/h/bin/libhocket_mpi.so");
  EXPECT_EQ(paths[1], "/opt/h/lib/hocket/libhocket_mpi.so");
  EXPECT_THAT(mpi_library_paths("/opt/h/bin/hocket", "/elsewhere/x.so"),
              testing::ElementsAre(std::filesystem::path("/elsewhere/x.so")));
}

TEST(MpiLibrary, AMissingOrForeignLibraryIsAnErrorThatSaysWhere) {
  const auto message_of = [](const std::filesystem::path& path) {
    try {
      load_mpi_library(std::span(&path, 1));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message_of("/nowhere/libhocket_mpi.so"), HasSubstr("looked for /nowhere/libhocket_mpi.so"));
  EXPECT_THAT(message_of("/proc/self/exe"), HasSubstr("cannot load"));
}

}  // namespace
}  // namespace hocket
