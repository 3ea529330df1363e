#include "net/stream_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const std::byte> bytes_of(const std::vector<int>& values) {
  return std::as_bytes(std::span(values));
}
std::span<std::byte> bytes_of(std::vector<int>& values) { return std::as_writable_bytes(std::span(values)); }

class TransportOver : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(Media, TransportOver,
                         testing::Values(Medium::inproc, Medium::shm, Medium::tcp, Medium::hosts),
                         [](const auto& medium) { return name_of(medium.param); });

TEST_P(TransportOver, MessagesOfAnySizeArriveInOrder) {
  const auto errors = run_ranks(
      3,
      [](std::unique_ptr<Transport> t) {
        const Rank next = (t->rank() + 1) % 3;
        const Rank prev = (t->rank() + 2) % 3;
        std::vector<std::vector<int>> sent;
        std::vector<std::vector<int>> received;
        std::vector<Pending> pending;
        const std::size_t counts[] = {0, 1, 3, 4, 17, 1000, 100'001};
        for (const std::size_t count : counts) {
          sent.push_back(numbered(t->rank() * 7, count));
          received.emplace_back(count);
        }
        for (std::size_t i = 0; i < sent.size(); ++i) {
          const Label label{{i}};
          pending.push_back(t->send(next, label, bytes_of(std::as_const(sent[i]))));
          pending.push_back(t->recv(prev, label, bytes_of(received[i])));
        }
        for (const Pending& p : pending) t->wait(p);
        for (std::size_t i = 0; i < sent.size(); ++i)
          EXPECT_EQ(received[i], numbered(prev * 7, counts[i])) << i;
        EXPECT_EQ(t->traffic().messages_sent, 7U);
        EXPECT_EQ(t->traffic().bytes_sent, (1 + 3 + 4 + 17 + 1000 + 100'001) * sizeof(int));
      },
      GetParam());
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(TransportOver, ASinkGetsWholeElementsInOrder) {
  struct Sum {
    std::size_t next = 0;
    std::int64_t total = 0;
  };
  const auto errors = run_ranks(
      2,
      [](std::unique_ptr<Transport> t) {
        const auto values = numbered(1, 50'001);
        if (t->rank() == 0) return t->wait(t->send(1, {}, bytes_of(values)));
        Sum sum;
        const auto take = [](void* context, std::size_t offset, std::span<const std::byte> bytes) {
          auto& to = *static_cast<Sum*>(context);
          EXPECT_EQ(offset, to.next);
          EXPECT_EQ(bytes.size() % sizeof(int), 0U);
          for (std::size_t i = 0; i < bytes.size(); i += sizeof(int)) {
            int value = 0;
            std::memcpy(&value, bytes.data() + i, sizeof value);
            to.total += value;
          }
          to.next += bytes.size();
        };
        t->wait(t->recv(0, {}, values.size() * sizeof(int), Sink{take, &sum}));
        EXPECT_EQ(sum.total, 50'001LL * 50'002 / 2);
      },
      GetParam());
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(TransportOver, ALabelThatDiffersIsAnErrorOnEveryRankThatShowsBoth) {
  const auto errors = run_ranks(
      3,
      [](std::unique_ptr<Transport> t) {
        t->set_label_text([](const Label& label) { return "call " + std::to_string(label.words[0]); });
        std::vector<int> data(4);
        const Label label{{t->rank() == 1 ? 8U : 7U}};
        const Rank next = (t->rank() + 1) % 3;
        const Rank prev = (t->rank() + 2) % 3;
        const Pending send = t->send(next, label, bytes_of(std::as_const(data)));
        t->wait(t->recv(prev, label, bytes_of(data)));
        t->wait(send);
        t->wait(t->recv(prev, label, bytes_of(data)));  // Nobody sends this one.
      },
      GetParam());
  EXPECT_THAT(errors, Each(HasSubstr("call 7")));
  EXPECT_THAT(errors, Each(HasSubstr("call 8")));
}

TEST_P(TransportOver, APeerThatLeavesIsNamed) {
  const auto errors = run_ranks(
      2,
      [](std::unique_ptr<Transport> t) {
        std::vector<int> data(4);
        if (t->rank() == 1) return;
        t->wait(t->recv(1, {}, bytes_of(data)));
      },
      GetParam());
  EXPECT_THAT(errors[0], HasSubstr("recv from rank 1"));
  EXPECT_THAT(errors[0], ContainsRegex("has left|closed"));
}

TEST(StreamTransport, AWaitHasADeadlineThatNamesThePeer) {
  const auto errors = run_ranks(
      2,
      [](std::unique_ptr<Transport> t) {
        std::vector<int> data(4);
        t->wait(t->recv(1 - t->rank(), {}, bytes_of(data)));
      },
      Medium::inproc, Seconds(0.05));
  EXPECT_THAT(errors[0], HasSubstr("did not answer"));
  EXPECT_THAT(errors[1], HasSubstr("did not answer"));
}

TEST_P(TransportOver, ASplitGroupCountsItsOwnRanks) {
  const auto errors = run_ranks(
      4,
      [](std::unique_ptr<Transport> t) {
        const std::vector<Rank> members =
            t->rank() % 2 == 0 ? std::vector<Rank>{0, 2} : std::vector<Rank>{1, 3};
        const auto half = t->split(members, 1 + static_cast<unsigned>(t->rank() % 2));
        EXPECT_EQ(half->size(), 2);
        EXPECT_EQ(half->rank(), t->rank() / 2);
        const auto mine = numbered(t->rank(), 1);
        std::vector<int> theirs(1);
        const Pending send = half->send(1 - half->rank(), {}, bytes_of(mine));
        half->wait(half->recv(1 - half->rank(), {}, bytes_of(theirs)));
        half->wait(send);
        EXPECT_EQ(theirs[0], (t->rank() + 2) % 4);
      },
      GetParam());
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
}  // namespace hocket
