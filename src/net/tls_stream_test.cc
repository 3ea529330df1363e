#include "net/tls_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

#include "net/job_key.h"

namespace hocket {
namespace {

struct TlsEnds {
  TlsStream connecting;
  TlsStream accepting;
};

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  return {FileDescriptor(pair[0]), FileDescriptor(pair[1])};
}

TlsEnds ends(const JobKey& first, const JobKey& second) {
  auto pair = socket_pair();
  return {TlsStream(std::move(pair.first), TlsStream::Role::connecting, first),
          TlsStream(std::move(pair.second), TlsStream::Role::accepting, second)};
}

bool establish(TlsEnds& both) {
  for (int i = 0; i < 20; ++i) {
    const bool first = both.connecting.establish();
    const bool second = both.accepting.establish();
    if (first && second) return true;
  }
  return false;
}

TEST(TlsStream, CarriesBytesBothWays) {
  const JobKey key = random_key();
  TlsEnds both = ends(key, key);
  ASSERT_TRUE(establish(both));
  std::vector<std::byte> sent(1 << 20);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 >> 3);
  for (const auto& [from, to] : {std::pair<Stream*, Stream*>{&both.connecting, &both.accepting},
                                 std::pair<Stream*, Stream*>{&both.accepting, &both.connecting}}) {
    std::vector<std::byte> received(sent.size());
    std::size_t out = 0;
    std::size_t in = 0;
    while (in < sent.size()) {
      out += from->write_some(std::span(sent).subspan(out));
      in += to->read_some(std::span(received).subspan(in));
    }
    EXPECT_EQ(received, sent);
  }
}

TEST(TlsStream, BytesOnTheWireAreNotTheBytesSent) {
  const JobKey key = random_key();
  auto pair = socket_pair();
  const int eavesdropped = pair.second.get();
  TlsEnds both{TlsStream(std::move(pair.first), TlsStream::Role::connecting, key),
               TlsStream(std::move(pair.second), TlsStream::Role::accepting, key)};
  ASSERT_TRUE(establish(both));
  const std::string secret = "the weights of the model";
  both.connecting.write_some(std::as_bytes(std::span(secret)));
  char seen[512] = {};
  const auto size = ::recv(eavesdropped, seen, sizeof(seen), MSG_PEEK);
  ASSERT_GT(size, static_cast<ssize_t>(secret.size()));
  EXPECT_EQ(std::string(seen, static_cast<std::size_t>(size)).find(secret), std::string::npos);
}

TEST(TlsStream, AnotherKeyCannotFinishTheHandshake) {
  TlsEnds both = ends(random_key(), random_key());
  EXPECT_THROW(establish(both), StreamClosed);
}

TEST(TlsStream, SaysWhenThePeerCloses) {
  const JobKey key = random_key();
  auto pair = socket_pair();
  TlsStream staying(std::move(pair.first), TlsStream::Role::connecting, key);
  {
    TlsStream leaving(std::move(pair.second), TlsStream::Role::accepting, key);
    for (bool is_done = false; !is_done;) {
      const bool first = staying.establish();
      is_done = leaving.establish() && first;
    }
  }
  std::byte buffer[16];
  EXPECT_THROW(staying.read_some(buffer), StreamClosed);
}

}  // namespace
}  // namespace hocket
