#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "net/clock.h"
#include "sync/lbfgs.h"
#include "sync/portion_ledger.h"
#include "sync/sandblaster_message.h"

namespace hocket {

struct SandblasterOptions {
  int servers = 1;
  int workers = 1;
  int portions = 0;  // Of the data; 0: kPortionsPerWorker for each worker.
  LbfgsOptions lbfgs{};
  Seconds patience{0.25};  // Then what was not answered is sent again.
};
inline constexpr int kPortionsPerWorker = 8;

// The coordinator of Sandblaster (Dean et al., 2012): runs L-BFGS on vectors that it never sees. Servers are
// sent operations, workers portions of the data, small ones, and what is late goes to a second worker too. A
// state machine: used by one thread, never blocks. Throws NetError where a server breaks the protocol.
class SandblasterCoordinator {
 public:
  SandblasterCoordinator(const SandblasterOptions& options, SandblasterOutbox& out);

  // Once all servers hold the point to start from. The first ProgressRequest does it, too.
  void start(TimePoint now);
  void on_message(const NodeId& from, const SandblasterMessage& message, TimePoint now);
  void on_time(TimePoint now);  // Sends again what was not answered.
  void on_worker_lost(int worker, TimePoint now);
  void on_worker_joined(int worker, TimePoint now);  // All have, at first.

  bool is_done() const { return lbfgs_.state() != LbfgsState::running; }
  const Lbfgs& lbfgs() const { return lbfgs_; }
  SandblasterProgress progress() const;

 private:
  enum class Stage : std::uint8_t { before, evaluating, after };
  struct Replica {
    bool is_live = true;
    bool is_busy = false;
    PortionTask task{};  // The newest.
    TimePoint sent_at{};
  };

  void on_body(const NodeId& from, const VectorBatchDone& done, TimePoint now);
  void on_body(const NodeId& from, const PortionDone& done, TimePoint now);
  void on_body(const NodeId& from, const ProgressRequest& request, TimePoint now);
  template <typename Other>
  void on_body(const NodeId& /*from*/, const Other& /*not for a coordinator*/, TimePoint /*now*/) {}

  void count(const SandblasterMessage& message);
  void send(const NodeId& to, const SandblasterMessage& message);
  void begin_request(TimePoint now);
  void run_batch(Stage stage, VectorBatch batch, TimePoint now);
  void send_batch(TimePoint now);
  void finish_batch(TimePoint now);
  std::vector<double> summed_dots() const;
  void hand_out(TimePoint now);
  void hand_out_to(int worker, TimePoint now);
  void finish_evaluation(TimePoint now);

  SandblasterOptions options_;
  SandblasterOutbox& out_;
  Lbfgs lbfgs_;
  Stage stage_ = Stage::before;
  bool has_started_ = false;
  SandblasterProgress counts_;  // But for what lbfgs_ knows.

  VectorBatch batch_;
  std::size_t expected_dots_ = 0;
  std::vector<std::optional<std::vector<WideSum>>> answers_;  // By server.
  TimePoint batch_sent_at_{};

  std::vector<Replica> replicas_;
  PortionLedger ledger_;
  std::int64_t evaluation_ = 0;
  std::int64_t serial_ = 0;
  double value_ = 0;  // Of the evaluation.
};

}  // namespace hocket
