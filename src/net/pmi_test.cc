#include "net/pmi.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <string>
#include <thread>

#include "base/error.h"
#include "net/file_descriptor.h"

namespace hocket {
namespace {

// What mpiexec does for its ranks: a store of values, and a barrier.
class PmiServer {
 public:
  explicit PmiServer(int size) {
    for (int i = 0; i < size; ++i) {
      int pair[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
      ranks_.emplace_back(pair[0]);
      ends_.emplace_back(pair[1]);
    }
  }
  int fd(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)].get(); }
  int finalized() const { return finalized_; }

  void serve_until_all_finalize() {
    while (finalized_ < static_cast<int>(ends_.size())) {
      for (const FileDescriptor& end : ends_) {
        const std::string line = read_line(end.get());
        if (!line.empty()) answer(end.get(), line);
      }
    }
  }

 private:
  static std::string read_line(int fd) {
    std::string line;
    char byte = 0;
    while (::recv(fd, &byte, 1, line.empty() ? MSG_DONTWAIT : 0) == 1 && byte != '\n') line += byte;
    return line;
  }
  static void say(int fd, std::string line) {
    line += '\n';
    EXPECT_EQ(::write(fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void answer(int fd, const std::string& line) {
    const auto after_text = [&](const std::string& name) {
      const std::size_t at = line.find(name) + name.size();
      return line.substr(at, line.find(' ', at) - at);
    };
    if (line.starts_with("cmd=init")) say(fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    if (line.starts_with("cmd=get_my_kvsname")) say(fd, "cmd=my_kvsname kvsname=kvs_7");
    if (line.starts_with("cmd=put ")) {
      values_[after_text("key=")] = after_text("value=");
      say(fd, "cmd=put_result rc=0 msg=success");
    }
    if (line.starts_with("cmd=get "))
      say(fd, "cmd=get_result rc=0 msg=success value=" + values_[after_text("key=")]);
    if (line.starts_with("cmd=barrier_in") && ++waiting_ == static_cast<int>(ends_.size())) {
      waiting_ = 0;
      for (const FileDescriptor& end : ends_) say(end.get(), "cmd=barrier_out");
    }
    if (line.starts_with("cmd=finalize")) {
      ++finalized_;
      say(fd, "cmd=finalize_ack");
    }
  }

  std::vector<FileDescriptor> ranks_;
  std::vector<FileDescriptor> ends_;
  std::map<std::string, std::string> values_;
  int waiting_ = 0;
  int finalized_ = 0;
};

TEST(Pmi, GivesEveryRankTheBytesOfAll) {
  constexpr int kSize = 3;
  PmiServer server(kSize);
  std::jthread serving([&] { server.serve_until_all_finalize(); });
  std::vector<std::jthread> ranks;
  for (Rank rank = 0; rank < kSize; ++rank) {
    ranks.emplace_back([&, rank] {
      const Exchange exchange = pmi_exchange(server.fd(rank), rank, kSize, Seconds(10));
      for (const int round : {0, 1}) {
        const std::vector<std::byte> mine(static_cast<std::size_t>(rank),
                                          static_cast<std::byte>(200 + round));
        const auto all = exchange(mine);
        ASSERT_EQ(all.size(), 3U);
        for (std::size_t other = 0; other < all.size(); ++other) {
          EXPECT_EQ(all[other], std::vector<std::byte>(other, static_cast<std::byte>(200 + round)));
        }
      }
    });
  }
  ranks.clear();
  serving.join();
  EXPECT_EQ(server.finalized(), kSize);
}

TEST(Pmi, SaysWhenTheLauncherIsSilentOrGone) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const FileDescriptor here(pair[0]);
  FileDescriptor there(pair[1]);
  EXPECT_THROW(pmi_exchange(here.get(), 0, 2, Seconds(0.01)), NetError);
  const std::string_view refusal = "cmd=response_to_init rc=-1\n";
  EXPECT_GT(::write(there.get(), refusal.data(), refusal.size()), 0);
  EXPECT_THROW(pmi_exchange(here.get(), 0, 2, Seconds(0.01)), NetError);
}

}  // namespace
}  // namespace hocket
