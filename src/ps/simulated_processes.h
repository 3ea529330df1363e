#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ps/ledger_store.h"
#include "ps/server.h"
#include "ps/server_coordinator.h"
#include "ps/worker.h"

// The processes of a simulated cluster: each a state machine with what stands for its memory and disk.
namespace hocket {

class SimulatedOutbox final : public Outbox {
 public:
  using Send = std::function<void(const NodeId& from, const NodeId& to, const Message& message)>;

  SimulatedOutbox(NodeId me, Send send) : me_(me), send_(std::move(send)) {}
  void send(const NodeId& to, const Message& message) override { send_(me_, to, message); }

 private:
  NodeId me_;
  Send send_;
};

class SimulatedDisk final : public CoordinatorDisk {
 public:
  void save(std::span<const std::byte> bytes) override { bytes_.assign(bytes.begin(), bytes.end()); }
  std::vector<std::byte> load() override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class SimulatedProcess {
 public:
  virtual ~SimulatedProcess() = default;
  virtual void on_message(const NodeId& from, const Message& message, TimePoint now) = 0;
  virtual void on_time(TimePoint now) = 0;
};

class CoordinatorProcess final : public SimulatedProcess {
 public:
  CoordinatorProcess(const ServerCoordinatorOptions& options, CoordinatorDisk& disk,
                     SimulatedOutbox::Send send, TimePoint now)
      : out_(kCoordinator, std::move(send)), coordinator_(options, disk, out_, now) {}

  void on_message(const NodeId& from, const Message& message, TimePoint now) override {
    coordinator_.on_message(from, message, now);
  }
  void on_time(TimePoint now) override { coordinator_.on_time(now); }
  const View& view() const { return coordinator_.view(); }

 private:
  SimulatedOutbox out_;
  ServerCoordinator coordinator_;
};

class ServerProcess final : public SimulatedProcess {
 public:
  ServerProcess(int server, const ReplicaOptions& options, const ClusterTiming& timing,
                SimulatedOutbox::Send send)
      : out_(server_node(server), std::move(send)), server_(server, options, out_, timing) {}

  void on_message(const NodeId& from, const Message& message, TimePoint now) override {
    server_.on_message(from, message, now);
  }
  void on_time(TimePoint now) override { server_.on_time(now); }
  Server& server() { return server_; }

 private:
  SimulatedOutbox out_;
  Server server_;
};

// Memory that a worker shares with servers: outlives its process, as a mapping of it does. A worker that
// pulls ahead has two gradients of each range, by turns.
using SharedGradients = std::vector<std::array<std::uint64_t, 2>>;

class WorkerProcess final : public SimulatedProcess, private WorkerMemory {
 public:
  // Starts a computation, at whose end on_gradient() is to be called.
  using Compute = std::function<void(const Worker::Task& task)>;

  WorkerProcess(const WorkerOptions& options, int ranges, const ClusterTiming& timing,
                SharedGradients& gradients, std::uint64_t& last_id, Compute compute,
                SimulatedOutbox::Send send);

  void on_message(const NodeId& from, const Message& message, TimePoint now) override;
  void on_time(TimePoint now) override;
  void on_gradient(TimePoint now);
  bool has_ended() const { return worker_.need() == Worker::Need::nothing; }

 private:
  Payload ids(RangeId, int, std::int64_t) override { return {}; }
  std::uint64_t destination(RangeId) override { return 0; }
  void take(const PullDone&, int, std::int64_t) override {}
  void advance(TimePoint now);

  std::span<std::array<std::uint64_t, 2>> gradients();  // That the computation at hand writes.

  SharedGradients& gradients_;
  int ranges_;
  std::int64_t turn_ = 0;  // Computations.
  std::uint64_t& last_id_;
  Compute compute_;
  bool is_computing_ = false;
  SimulatedOutbox out_;
  Client client_;
  Worker worker_;
};

// Begins the training, and ends it when all ranges have seen all batches.
class RecorderProcess final : public SimulatedProcess {
 public:
  RecorderProcess(std::int64_t batches, const ClusterTiming& timing, SimulatedOutbox::Send send);

  void on_message(const NodeId& from, const Message& message, TimePoint now) override;
  void on_time(TimePoint now) override;
  bool is_over() const { return client_.view().is_over; }

 private:
  void go_on(TimePoint now);

  std::int64_t batches_;
  SimulatedOutbox out_;
  Client client_;
  bool has_begun_ = false;
  int finished_ = 0;  // Ranges.
};

}  // namespace hocket
