#include "net/listener.h"

#include <gtest/gtest.h>

#include <memory>

#include "net/job_key.h"
#include "net/stream.h"

namespace hocket {
namespace {

const JobKey kKey = random_key();

struct Door {
  std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();
  Listener listener;

  explicit Door(ListenerOptions options = {})
      : listener(listen_at({"127.0.0.1", 0}), kKey, options,
                 [l = lines](std::string_view line) { l->emplace_back(line); }) {}

  FileDescriptor visitor() { return connect_to(listener.endpoint(), after(Seconds(5))); }

  // Runs until `done` says so, at a time that stands still.
  template <typename Done>
  std::vector<Accepted> run(TimePoint now, Done done) {
    std::vector<Accepted> all;
    for (const TimePoint limit = after(Seconds(10)); !done(all) && Clock::now() < limit;) {
      std::vector<pollfd> polls;
      listener.add_to(polls);
      ::poll(polls.data(), polls.size(), 10);
      for (Accepted& accepted : listener.progress(now)) all.push_back(std::move(accepted));
    }
    return all;
  }
};

bool is_closed(int socket) {
  std::byte buffer[256];
  try {
    while (wait_for(socket, POLLIN, after(Seconds(5)))) receive_some(socket, buffer);
  } catch (const StreamClosed&) {
    return true;
  }
  return false;
}

TEST(Listener, TakesAMemberWhileStrangersDawdle) {
  Door door;
  const TimePoint start = Clock::now();
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(door.visitor());
  for (const FileDescriptor& stranger : strangers) {
    const std::byte one[] = {std::byte{'H'}};
    send_some(stranger.get(), one);
  }
  const FileDescriptor member = door.visitor();
  Hello hello;
  hello.rank = 5;
  Handshake handshake = Handshake::connecting(kKey, hello);
  const auto accepted =
      door.run(start, [&](const auto& all) { return advance(handshake, member.get()) && !all.empty(); });
  ASSERT_EQ(accepted.size(), 1U);
  EXPECT_EQ(accepted[0].hello.rank, 5);

  door.run(start + std::chrono::seconds(1), [&](const auto&) { return door.lines->size() >= 20; });
  EXPECT_EQ(door.lines->size(), 20U);
  EXPECT_NE(door.lines->front().find("it did not prove within 1 s that it belongs here"), std::string::npos)
      << door.lines->front();
  for (const FileDescriptor& stranger : strangers) EXPECT_TRUE(is_closed(stranger.get()));
}

TEST(Listener, ClosesGarbageAndWrongKeysAtOnceWithALine) {
  Door door;
  const FileDescriptor web = door.visitor();
  send_some(web.get(), std::as_bytes(std::span(std::string_view("GET / HTTP/1.1\r\n\r\n"))));
  const FileDescriptor other = door.visitor();
  Handshake handshake = Handshake::connecting(random_key(), {});
  advance(handshake, other.get());
  door.run(Clock::now(), [&](const auto&) { return door.lines->size() == 2; });
  EXPECT_TRUE(is_closed(web.get()));
  EXPECT_TRUE(is_closed(other.get()));
}

TEST(Listener, ThousandIdleStrangersNeverHoldMoreThanTheirPlaces) {
  Door door(ListenerOptions{.max_pending = 8});
  TimePoint now = Clock::now();
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(door.visitor());
  for (int round = 0; round < 40; ++round) {
    now += std::chrono::milliseconds(300);
    door.listener.progress(now);
    std::vector<pollfd> polls;
    door.listener.add_to(polls);
    EXPECT_LE(polls.size(), 9U);
  }
  EXPECT_GE(door.lines->size(), 92U);
}

}  // namespace
}  // namespace hocket
