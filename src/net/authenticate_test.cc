#include "net/authenticate.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "net/file_descriptor.h"
#include "net/job_key.h"
#include "net/stream.h"

namespace hocket {
namespace {

JobKey key_of(int seed) {
  JobKey key = {};
  key[0] = static_cast<std::byte>(seed);
  return key;
}

// Carries what one end says to the other, `piece` bytes at a time.
void carry(Handshake& from, Handshake& to, std::size_t piece) {
  while (!from.outgoing().empty()) {
    const std::size_t bytes = std::min({piece, from.outgoing().size(), to.wanted()});
    ASSERT_GT(bytes, 0U);
    to.take(from.outgoing().first(bytes));
    from.sent(bytes);
  }
}

std::string refusal(Handshake& end, std::span<const std::byte> bytes) {
  try {
    while (!bytes.empty() && end.wanted() > 0) {
      const auto piece = bytes.first(std::min(bytes.size(), end.wanted()));
      end.take(piece);
      bytes = bytes.subspan(piece.size());
    }
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "";
}

TEST(Hello, ReadsBackWhatWasWritten) {
  Hello hello;
  hello.job = 0x0123456789abcdefU;
  hello.purpose = Purpose::data;
  hello.is_encrypted = true;
  hello.channel = 77;
  hello.stream = 2;
  hello.streams = 3;
  hello.rank = 12;
  hello.nonce[31] = std::byte{9};
  EXPECT_EQ(parse_hello(encode(hello)), hello);
}

TEST(Hello, RefusesEveryShorterAndLongerOne) {
  const auto bytes = encode(Hello{});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(parse_hello(std::span(bytes).first(size)), Refused) << size;
  }
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back({});
  EXPECT_THROW(parse_hello(longer), Refused);
}

TEST(Hello, NamesBothVersions) {
  auto bytes = encode(Hello{});
  bytes[8] = std::byte{7};
  try {
    parse_hello(bytes);
    FAIL();
  } catch (const Refused& refused) {
    EXPECT_STREQ(refused.what(), "it speaks version 7 of the protocol, this is version 1");
  }
}

TEST(Handshake, BothEndsLearnWhoTheOtherIs) {
  for (const std::size_t piece : {1U, 5U, 1000U}) {
    Hello mine;
    mine.purpose = Purpose::data;
    mine.channel = 4;
    mine.rank = 3;
    Handshake connecting = Handshake::connecting(key_of(1), mine);
    Handshake accepting = Handshake::accepting(key_of(1), 2);
    carry(connecting, accepting, piece);
    EXPECT_FALSE(accepting.is_done());
    carry(accepting, connecting, piece);
    carry(connecting, accepting, piece);
    ASSERT_TRUE(connecting.is_done() && accepting.is_done());
    EXPECT_EQ(accepting.peer().rank, 3);
    EXPECT_EQ(accepting.peer().channel, 4U);
    EXPECT_EQ(connecting.peer().rank, 2);
    EXPECT_EQ(accepting.peer().job, job_id(key_of(1)));
  }
}

TEST(Handshake, AnotherKeyIsAnotherJob) {
  Handshake connecting = Handshake::connecting(key_of(1), {});
  Handshake accepting = Handshake::accepting(key_of(2), 0);
  EXPECT_NE(refusal(accepting, connecting.outgoing()).find("it belongs to job"), std::string::npos);
}

// A thief who knows the public job id, but not the key, says it itself.
TEST(Handshake, RefusesWhoeverKnowsTheJobButNotTheKey) {
  Hello hello;
  hello.job = job_id(key_of(1));
  hello.rank = 1;
  std::vector<std::byte> bytes;
  for (const std::byte byte : encode(hello)) bytes.push_back(byte);
  bytes.resize(bytes.size() + kKeyBytes);
  Handshake accepting = Handshake::accepting(key_of(1), 0);
  EXPECT_EQ(refusal(accepting, bytes), "it does not know the job key");
  Handshake connecting = Handshake::connecting(key_of(1), {});
  EXPECT_EQ(refusal(connecting, bytes), "it does not know the job key");
}

TEST(Handshake, RefusesItsOwnWordsPlayedBack) {
  Handshake connecting = Handshake::connecting(key_of(1), {});
  Handshake accepting = Handshake::accepting(key_of(1), 0);
  const std::vector<std::byte> hello(connecting.outgoing().begin(), connecting.outgoing().end());
  accepting.take(std::span(hello).first(accepting.wanted()));
  accepting.take(std::span(hello).subspan(kPrefixBytes));
  const std::vector<std::byte> reply(accepting.outgoing().begin(), accepting.outgoing().end());
  const auto proof = std::span(reply).last(kKeyBytes);  // The accepting end's own, handed back to it.
  EXPECT_EQ(refusal(accepting, proof), "it does not know the job key");
}

TEST(Handshake, RefusesGarbageAfterItsFirstBytesAndSaysItsVersion) {
  const std::string garbage = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Handshake accepting = Handshake::accepting(key_of(1), 0);
  EXPECT_EQ(refusal(accepting, std::as_bytes(std::span(garbage))), "it does not speak hocket's protocol");
  EXPECT_EQ(accepting.outgoing().size(), kPrefixBytes);
  EXPECT_NO_THROW(check_prefix(accepting.outgoing()));
}

TEST(Handshake, EveryAlteredBitIsNoticed) {
  for (std::size_t at = 0; at < kHelloBytes + kKeyBytes; ++at) {
    Handshake connecting = Handshake::connecting(key_of(1), {});
    Handshake accepting = Handshake::accepting(key_of(1), 0);
    carry(connecting, accepting, 1000);
    std::vector<std::byte> reply(accepting.outgoing().begin(), accepting.outgoing().end());
    reply[at] ^= std::byte{1};
    EXPECT_NE(refusal(connecting, reply), "") << "byte " << at;
    EXPECT_FALSE(connecting.is_done());
  }
}

TEST(Handshake, StopsAtTheDeadlineWhenTheOtherEndIsSilent) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  const FileDescriptor here(pair[0]);
  const FileDescriptor silent(pair[1]);
  Handshake connecting = Handshake::connecting(key_of(1), {});
  EXPECT_THROW(complete(connecting, here.get(), after(Seconds(0.02))), NetError);
}

TEST(JobKey, SurvivesHexAndDescriptor) {
  const JobKey key = random_key();
  EXPECT_EQ(key_from_hex(to_hex(key)), key);
  EXPECT_EQ(key_from_hex(to_hex(key).substr(1)), std::nullopt);
  EXPECT_EQ(key_from_hex(std::string(64, 'g')), std::nullopt);
  const FileDescriptor fd(descriptor_with_key(key));
  EXPECT_EQ(key_from_descriptor(fd.get()), key);
  EXPECT_EQ(key_from_descriptor(fd.get()), key);  // Whoever inherits it too.
  EXPECT_THROW(key_from_descriptor(-1), ConfigError);
}

}  // namespace
}  // namespace hocket
