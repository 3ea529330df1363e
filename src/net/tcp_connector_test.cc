#include "net/tcp_connector.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/error.h"
#include "net/job_key.h"

namespace hocket {
namespace {

// A job whose ranks are threads, each with a listener on loopback.
struct Ranks {
  std::vector<Job> jobs;
  std::vector<Health> health;
  std::vector<std::unique_ptr<TcpConnector>> connectors;

  // Ranks with different host numbers believe that they are on different hosts.
  explicit Ranks(const std::vector<int>& hosts, TcpOptions options = {})
      : jobs(hosts.size()), health(hosts.size()) {
    const JobKey key = random_key();
    const Log quiet = [](std::string_view) {};
    std::vector<Listener> listeners;
    std::vector<Member> members;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      listeners.emplace_back(listen_at({"127.0.0.1", 0}), key, ListenerOptions{.rank = static_cast<Rank>(r)},
                             quiet);
      members.push_back({"host", "127.0.0.1", listeners[r].endpoint().port, std::to_string(hosts[r]), 1});
    }
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      jobs[r] = {job_id(key), key, static_cast<Rank>(r), members, false};
      connectors.push_back(
          std::make_unique<TcpConnector>(jobs[r], health[r], std::move(listeners[r]), options, quiet));
    }
  }

  template <typename Body>
  void run(Body body) {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < jobs.size(); ++r) {
      threads.emplace_back([&, r] { body(static_cast<Rank>(r), *connectors[r]); });
    }
  }
};

void send_all(Stream& stream, std::span<const std::byte> bytes) {
  while (!bytes.empty()) bytes = bytes.subspan(stream.write_some(bytes));
}

void receive_all(Stream& stream, std::span<std::byte> into) {
  while (!into.empty()) into = into.subspan(stream.read_some(into));
}

// Every rank tells every other who it is, on every stream.
void exchange_names(Rank me, Connector& connector, unsigned channel, std::span<const Rank> members,
                    std::size_t streams) {
  const auto all = connector.connect(channel, members);
  ASSERT_EQ(all.size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    ASSERT_EQ(all[i].size(), members[i] == me ? 0 : streams);
    for (std::size_t s = 0; s < all[i].size(); ++s) {
      const int name[] = {me, static_cast<int>(channel), static_cast<int>(s)};
      send_all(*all[i][s], std::as_bytes(std::span(name)));
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t s = 0; s < all[i].size(); ++s) {
      int name[3] = {};
      receive_all(*all[i][s], std::as_writable_bytes(std::span(name)));
      EXPECT_EQ(name[0], members[i]);
      EXPECT_EQ(name[1], static_cast<int>(channel));
      EXPECT_EQ(name[2], static_cast<int>(s));
    }
  }
}

TEST(TcpConnector, ConnectsEveryPairInOrder) {
  for (const std::size_t world : {1U, 2U, 3U, 5U}) {
    Ranks ranks(std::vector<int>(world, 0), {.streams_within_host = 2});
    std::vector<Rank> members;
    for (std::size_t r = 0; r < world; ++r) members.push_back(static_cast<Rank>(r));
    ranks.run([&](Rank me, Connector& connector) { exchange_names(me, connector, 0, members, 2); });
  }
}

TEST(TcpConnector, EncryptsBetweenHosts) {
  Ranks ranks({0, 1, 2});
  const std::vector<Rank> members{0, 1, 2};
  ranks.run([&](Rank me, Connector& connector) { exchange_names(me, connector, 0, members, 2); });
}

TEST(TcpConnector, KeepsConnectionsOfChannelsThatNobodyAskedForYet) {
  Ranks ranks({0, 0, 0});
  const std::vector<Rank> all{0, 1, 2};
  const std::vector<Rank> some{0, 2};
  ranks.run([&](Rank me, Connector& connector) {
    const bool is_in_some = me != 1;
    if (me == 2) exchange_names(me, connector, 9, some, 1);
    if (is_in_some && me == 0) exchange_names(me, connector, 9, some, 1);
    exchange_names(me, connector, 1, all, 1);
  });
}

TEST(TcpConnector, NamesTheMemberThatDoesNotCome) {
  Ranks ranks({0, 0}, {.timeout = Seconds(0.1)});
  const std::vector<Rank> members{0, 1};
  try {
    ranks.connectors[0]->connect(0, members);
    FAIL();
  } catch (const NetError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 (pid 1 on host) cannot be reached"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(ranks.health[0].failure().culprit, 1);
}

TEST(TcpConnector, StopsWaitingWhenTheJobFails) {
  Ranks ranks({0, 0, 0});
  const std::vector<Rank> members{0, 1, 2};
  ranks.health[0].report({2, "rank 2 was killed"});
  EXPECT_THROW(ranks.connectors[0]->connect(0, members), NetError);
}

}  // namespace
}  // namespace hocket
