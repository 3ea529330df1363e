#include "ps/range_replica.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>

#include "ps/ledger_store.h"

namespace hocket {
namespace {

constexpr TimePoint kNow = TimePoint(std::chrono::seconds(10));

struct Sent {
  NodeId to;
  Message message;
};

class RecordingOutbox final : public Outbox {
 public:
  void send(const NodeId& to, const Message& message) override {
    sent.push_back({to, message});
    if (auto* snapshot = std::get_if<Snapshot>(&sent.back().message)) snapshot->state.keep();
  }

  template <typename T>
  std::vector<T> take() {
    std::vector<T> found;
    for (const Sent& one : std::exchange(sent, {})) {
      if (const T* message = std::get_if<T>(&one.message)) found.push_back(*message);
    }
    return found;
  }
  std::vector<Sent> sent;
};

// Keeps gradients until two are there.
class Pairs final : public Consistency {
 public:
  Verdict on_push(const Arrival& arrival, std::int64_t) override {
    if (waiting_ == 0) {
      waiting_ = arrival.serial;
      return {};
    }
    return {{{std::exchange(waiting_, 0), 1}, {arrival.serial, 1}}, {}};
  }
  bool may_read(int, std::int64_t clock, std::int64_t version) const override { return version >= clock; }
  bool update_is_batch() const override { return true; }
  std::vector<std::byte> save() const override {
    const auto bytes = std::as_bytes(std::span(&waiting_, 1));
    return {bytes.begin(), bytes.end()};
  }
  void restore(std::span<const std::byte> bytes) override { std::memcpy(&waiting_, bytes.data(), 8); }

 private:
  std::int64_t waiting_ = 0;
};

class RangeReplicaTest : public testing::Test {
 protected:
  RangeReplicaTest() {
    options_.workers = 2;
    options_.make_consistency = [] { return std::make_unique<Pairs>(); };
    options_.hyper = [](std::int64_t, double) { return Hyper{}; };
    options_.make_store = [](const Init&) { return std::make_unique<LedgerStore>(); };
  }

  static View view_of(std::int64_t epoch, std::vector<std::int32_t> servers, std::int32_t joining = -1) {
    View view;
    view.epoch = epoch;
    view.chains.resize(1);
    view.chains[0] = {std::move(servers), joining, joining < 0 ? 0 : epoch};
    return view;
  }

  RangeReplica replica(int server, std::vector<std::int32_t> chain) {
    RangeReplica made(0, server, options_, out_);
    made.on_lease(later(kNow, Seconds(0.5)));
    made.on_view(view_of(1, std::move(chain)), kNow);
    return made;
  }

  ChangeRequest init() { return {0, 1, kRecorder, {0, 1}, Init{}}; }

  ChangeRequest push(int worker, std::int64_t number, std::int64_t clock = 0) {
    gradients_.push_back(LedgerStore::gradient(static_cast<std::uint64_t>(100 * worker + number)));
    Push push;
    push.slice = worker;
    push.clock = clock;
    push.values.bytes = std::as_bytes(std::span(gradients_.back()));
    return {0, 1, worker_node(worker), {0, number}, push};
  }

  static void ask(RangeReplica& replica, const ChangeRequest& request, TimePoint now = kNow) {
    replica.on_message(request.client, request, now);
  }
  static std::size_t applied(const RangeReplica& replica) {
    return static_cast<const LedgerStore*>(replica.state().store())->applied().size();
  }

  ReplicaOptions options_;
  RecordingOutbox out_;
  std::deque<std::array<std::uint64_t, 2>> gradients_;
};

TEST_F(RangeReplicaTest, AGradientInSharedMemoryIsAcknowledgedWhenItIsNoLongerNeeded) {
  RangeReplica head = replica(0, {0});
  ask(head, init());
  ask(head, push(0, 1));
  EXPECT_EQ(out_.take<ChangeDone>().size(), 1U);  // Of the beginning.
  ask(head, push(1, 1));
  EXPECT_EQ(out_.take<ChangeDone>().size(), 2U);
  EXPECT_EQ(applied(head), 2U);
}

TEST_F(RangeReplicaTest, AGradientThatWaitsForALostWorkerIsCopiedAndAcknowledged) {
  RangeReplica head = replica(0, {0});
  ask(head, init());
  ask(head, push(0, 1));
  out_.sent.clear();
  ask(head, {0, 1, kCoordinator, {0, 1}, WorkerLost{1}});
  EXPECT_EQ(out_.take<ChangeDone>().size(), 2U);
  gradients_.front() = {0, 0};
  ask(head, push(1, 1));
  EXPECT_EQ(static_cast<const LedgerStore*>(head.state().store())->torn(), 0U);
}

TEST_F(RangeReplicaTest, WhoFollowsAHeadThatLivesWaitsUntilThatHasNoLease) {
  RangeReplica follower = replica(1, {0, 1});
  View view = view_of(2, {1});
  view.chains[0].handed_over = 2;
  follower.on_view(view, kNow);
  follower.on_lease(later(kNow, Seconds(2)));
  ask(follower, init());
  EXPECT_EQ(out_.take<ChangeDone>().size(), 0U);
  view = view_of(3, {1});
  view.chains[0].handed_over = 2;
  follower.on_view(view, later(kNow, Seconds(0.4)));
  ask(follower, init(), later(kNow, Seconds(0.59)));
  EXPECT_EQ(out_.take<ChangeDone>().size(), 0U);
  ask(follower, init(), later(kNow, Seconds(0.61)));
  EXPECT_EQ(out_.take<ChangeDone>().size(), 1U);
}

TEST_F(RangeReplicaTest, AChangeIsMadeOnceAndAcknowledgedAsOftenAsItIsAskedFor) {
  RangeReplica head = replica(0, {0});
  ask(head, init());
  const ChangeRequest first = push(0, 1);
  ask(head, first);
  ask(head, push(0, 2));
  ask(head, first);
  ask(head, push(0, 4));  // A gap.
  EXPECT_EQ(applied(head), 2U);
  out_.sent.clear();
  ask(head, first);
  EXPECT_EQ(out_.take<ChangeDone>().size(), 1U);
  EXPECT_EQ(applied(head), 2U);
}

TEST_F(RangeReplicaTest, APushThatDoesNotFitChangesNothing) {
  RangeReplica head = replica(0, {0});
  ask(head, init());
  out_.sent.clear();
  ChangeRequest wrong = push(0, 1);
  std::get<Push>(wrong.change).slice = 2;
  ask(head, wrong);
  wrong = push(0, 2);
  std::get<Push>(wrong.change).values.bytes = {};
  ask(head, wrong);
  wrong = push(0, 3);
  std::get<Push>(wrong.change).version = 1;
  ask(head, wrong);
  const std::vector<ChangeDone> done = out_.take<ChangeDone>();
  ASSERT_EQ(done.size(), 3U);
  for (const ChangeDone& one : done) EXPECT_TRUE(one.was_dropped);
  EXPECT_EQ(applied(head), 0U);
  EXPECT_EQ(head.state().status(0).slices[0].clock, 0);
}

TEST_F(RangeReplicaTest, AHeadWithoutALeaseDoesNothing) {
  RangeReplica head = replica(0, {0});
  ask(head, init());
  out_.sent.clear();
  const TimePoint late = later(kNow, Seconds(0.6));
  ask(head, push(0, 1), late);
  head.on_message(worker_node(0), PullRequest{0, 1, worker_node(0), 1, 0}, late);
  EXPECT_TRUE(out_.sent.empty());
  EXPECT_EQ(head.made(), 1);
}

TEST_F(RangeReplicaTest, AHeadMakesAChangeWhenTheTailHasIt) {
  RangeReplica head = replica(0, {0, 1});
  RangeReplica tail = replica(1, {0, 1});
  ask(head, init());
  EXPECT_EQ(head.made(), 0);
  for (const Forward& forward : out_.take<Forward>()) tail.on_message(server_node(0), forward, kNow);
  EXPECT_EQ(tail.made(), 1);
  const std::vector<ForwardDone> back = out_.take<ForwardDone>();
  ASSERT_FALSE(back.empty());
  head.on_message(server_node(1), back.back(), kNow);
  EXPECT_EQ(head.made(), 1);
  EXPECT_EQ(out_.take<ChangeDone>().size(), 1U);
}

TEST_F(RangeReplicaTest, MessagesOfAnotherEpochChangeNothing) {
  RangeReplica tail = replica(1, {0, 1});
  tail.on_view(view_of(2, {0, 1}), kNow);
  tail.on_message(server_node(0), Forward{0, 1, 1, init()}, kNow);
  EXPECT_EQ(tail.made(), 0);
  tail.on_message(server_node(0), Forward{0, 2, 1, init()}, kNow);
  EXPECT_EQ(tail.made(), 1);
}

TEST_F(RangeReplicaTest, WhoJoinsGetsEverythingAlsoWhatWaits) {
  RangeReplica head = replica(0, {0});
  ask(head, init());
  ask(head, push(0, 1));
  out_.sent.clear();
  RangeReplica joining(0, 1, options_, out_);
  joining.on_view(view_of(2, {0}, 1), kNow);
  head.on_view(view_of(2, {0}, 1), kNow);
  EXPECT_FALSE(head.has_caught_up());
  for (const Snapshot& snapshot : out_.take<Snapshot>()) joining.on_message(server_node(0), snapshot, kNow);
  for (const ForwardDone& done : out_.take<ForwardDone>()) head.on_message(server_node(1), done, kNow);
  EXPECT_TRUE(head.has_caught_up());
  EXPECT_EQ(joining.state().save(), head.state().save());

  joining.on_lease(later(kNow, Seconds(0.5)));
  joining.on_view(view_of(3, {1}), kNow);
  ask(joining, push(1, 1));
  EXPECT_EQ(applied(joining), 2U);
}

TEST_F(RangeReplicaTest, APullWaitsForItsBatchAndForWhatItsClientPushed) {
  RangeReplica head = replica(0, {0});
  head.on_message(worker_node(0), PullRequest{0, 1, worker_node(0), 1, 1}, kNow);
  ask(head, init());
  ask(head, push(0, 1));
  EXPECT_TRUE(out_.take<PullDone>().empty());
  ask(head, push(1, 1));
  const std::vector<PullDone> done = out_.take<PullDone>();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].request, 1);
  EXPECT_EQ(done[0].progress.version, 1);
  EXPECT_DOUBLE_EQ(done[0].progress.batches, 1);
}

TEST_F(RangeReplicaTest, AServerThatIsNotTheHeadSaysSo) {
  RangeReplica tail = replica(1, {0, 1});
  ask(tail, push(0, 1));
  EXPECT_EQ(out_.take<Misdirected>().size(), 1U);
}

}  // namespace
}  // namespace hocket
