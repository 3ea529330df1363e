#include "ps/server_coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"

namespace hocket {
namespace {

class MemoryDisk final : public CoordinatorDisk {
 public:
  void save(std::span<const std::byte> bytes) override { bytes_.assign(bytes.begin(), bytes.end()); }
  std::vector<std::byte> load() override { return bytes_; }

  std::vector<std::byte> bytes_;
};

class LastMessages final : public Outbox {
 public:
  void send(const NodeId& to, const Message& message) override {
    if (const auto* done = std::get_if<HeartbeatDone>(&message)) beats[to] = *done;
    if (const auto* request = std::get_if<ChangeRequest>(&message)) requests.push_back(*request);
  }
  std::map<NodeId, HeartbeatDone> beats;
  std::vector<ChangeRequest> requests;
};

class ServerCoordinatorTest : public testing::Test {
 protected:
  ServerCoordinatorTest() {
    options_.servers = 3;
    options_.workers = 2;
    options_.replicas = 2;
    coordinator_.emplace(options_, disk_, out_, now_);
    for (int server = 0; server < 3; ++server) nodes_.push_back(server_node(server));
    for (int worker = 0; worker < 2; ++worker) nodes_.push_back(worker_node(worker));
  }

  void beat(const NodeId& node, std::int32_t incarnation, std::int64_t sent_at) {
    Heartbeat beat{node, incarnation, coordinator_->view().epoch, sent_at};
    coordinator_->on_message(node, beat, now_);
  }

  // All nodes beat but `silent`.
  void pass(Seconds time, const std::vector<NodeId>& silent = {}) {
    const TimePoint until = later(now_, time);
    while (now_ < until) {
      now_ = later(now_, Seconds(0.05));
      for (const NodeId& node : nodes_) {
        if (std::find(silent.begin(), silent.end(), node) != silent.end()) continue;
        const bool is_new = !out_.beats.contains(node);
        beat(node, is_new ? -1 : out_.beats[node].incarnation, is_new ? 1 : nanoseconds_of(now_));
      }
      coordinator_->on_time(now_);
    }
  }

  ServerCoordinatorOptions options_;
  MemoryDisk disk_;
  LastMessages out_;
  TimePoint now_ = TimePoint(std::chrono::seconds(1));
  std::vector<NodeId> nodes_;
  std::optional<ServerCoordinator> coordinator_;
};

TEST_F(ServerCoordinatorTest, MakesTheFirstViewWhenAllHaveCome) {
  pass(Seconds(1), {worker_node(1)});
  EXPECT_EQ(coordinator_->view().epoch, 0);
  pass(Seconds(0.2));
  EXPECT_EQ(coordinator_->view().epoch, 1);
  EXPECT_EQ(out_.beats[server_node(0)].lease_seconds, 0.5);
}

TEST_F(ServerCoordinatorTest, WaitsForTheLeaseOfASilentHead) {
  pass(Seconds(0.2));
  pass(Seconds(0.5), {server_node(0)});
  EXPECT_EQ(coordinator_->view().chains[0].servers.front(), 0);
  pass(Seconds(0.2), {server_node(0)});
  EXPECT_EQ(coordinator_->view().chains[0].servers.front(), 1);
}

TEST_F(ServerCoordinatorTest, AProcessThatStartsAgainIsAnotherAndWaitsForTheLeaseOfTheOneBefore) {
  pass(Seconds(0.2));
  beat(server_node(0), -1, 5);
  EXPECT_EQ(out_.beats[server_node(0)].incarnation, 1);
  EXPECT_EQ(out_.beats[server_node(0)].lease_seconds, 0);
  beat(server_node(0), -1, 5);  // The same, again.
  EXPECT_EQ(out_.beats[server_node(0)].incarnation, 1);
  beat(server_node(0), -1, 1);  // Of the one before, late.
  EXPECT_EQ(out_.beats[server_node(0)].incarnation, 1);
  pass(Seconds(0.3));
  EXPECT_EQ(coordinator_->view().servers[0], 0);
  pass(Seconds(0.5));
  EXPECT_EQ(coordinator_->view().servers[0], 1);
}

TEST_F(ServerCoordinatorTest, OnlyWhoKnowsTheViewGetsALease) {
  pass(Seconds(0.2));
  coordinator_->on_message(server_node(1), Heartbeat{server_node(1), 0, 0, 77}, now_);
  EXPECT_EQ(out_.beats[server_node(1)].lease_seconds, 0);
}

TEST_F(ServerCoordinatorTest, GoesOnFromItsDiskAndChangesNothingAtFirst) {
  pass(Seconds(0.2));
  const std::int64_t epoch = coordinator_->view().epoch;
  coordinator_.emplace(options_, disk_, out_, now_);
  EXPECT_EQ(coordinator_->view().epoch, epoch);
  pass(Seconds(0.5), {server_node(0), worker_node(0)});
  EXPECT_EQ(coordinator_->view().epoch, epoch);
  pass(Seconds(0.3), {server_node(0), worker_node(0)});
  EXPECT_EQ(coordinator_->view().chains[0].servers.front(), 1);
  EXPECT_EQ(coordinator_->view().incarnations[0], -1);
}

TEST_F(ServerCoordinatorTest, TellsTheHeadsOfALostWorkerUntilTheyKnow) {
  pass(Seconds(0.2));
  pass(Seconds(1.5), {worker_node(1)});
  ASSERT_GE(out_.requests.size(), 2U);
  EXPECT_EQ(std::get<WorkerLost>(out_.requests.front().change).worker, 1);
  coordinator_->on_message(server_node(0), ChangeDone{0, out_.requests.front().sequence}, now_);
  out_.requests.clear();
  pass(Seconds(1), {worker_node(1)});
  EXPECT_TRUE(out_.requests.empty());
  EXPECT_EQ(coordinator_->view().slices[1], 0);
}

TEST_F(ServerCoordinatorTest, RefusesADiskOfAnotherRun) {
  pass(Seconds(0.2));
  options_.workers = 5;
  EXPECT_THROW(ServerCoordinator(options_, disk_, out_, now_), DataError);
  disk_.bytes_.resize(disk_.bytes_.size() - 1);
  EXPECT_THROW(ServerCoordinator(options_, disk_, out_, now_), DataError);
}

}  // namespace
}  // namespace hocket
