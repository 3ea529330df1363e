#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "ps/node_id.h"
#include "ps/payload.h"
#include "sync/lbfgs.h"
#include "sync/vectors.h"

namespace hocket {

// Coordinator to server: vector operations on its range. Batches are numbered from 1; each is run once.
struct VectorBatch {
  std::int64_t sequence = 0;
  std::int64_t evaluation = 0;  // That begins when the operations have run, with the gradient at 0;
  std::int32_t portions = 0;    // of so many portions. 0: none begins.
  std::vector<VectorOp> ops{};
};
struct VectorBatchDone {
  std::int64_t sequence = 0;
  std::vector<WideSum> dots{};  // Over the server's range.
};

// Coordinator to worker: what to compute next. Tasks of a worker are numbered, increasingly.
struct PortionTask {
  std::int64_t serial = 0;
  std::int64_t evaluation = 0;
  std::int32_t portion = 0;
  std::int32_t portions = 0;
};
// Its gradient is on all servers, or the evaluation is over.
struct PortionDone {
  std::int64_t serial = 0;
  double value = 0;  // The portion's part of the function.
};

// Worker to server. `evaluation` 0 asks for the best point so far, at any time.
struct PointRequest {
  std::int64_t evaluation = 0;
};
struct PointReply {
  std::int64_t evaluation = 0;
  bool is_over = false;  // The evaluation; then there are no values.
  Payload values{};      // double, of the server's range.
};
struct PortionPush {
  std::int64_t evaluation = 0;
  std::int32_t portion = 0;
  Payload gradient{};  // double, of the server's range.
};
struct PortionPushDone {
  std::int64_t evaluation = 0;
  std::int32_t portion = 0;
};

// To a server, once, before the coordinator starts: where to start.
struct PointInit {
  Payload values{};
};
struct PointInitDone {};

// Recorder to coordinator. The first one, once all servers hold the point, starts it; it stops after so many
// iterations, or after the present one if that is more, until it is asked for more.
struct ProgressRequest {
  std::int32_t iterations = 0;
};
// How far L-BFGS is, and what the coordinator has sent and received for that.
struct SandblasterProgress {
  LbfgsState state = LbfgsState::running;
  std::int64_t iterations = 0;
  double value = 0;  // Of the function, at the best point so far,
  double gradient_norm = 0;
  std::int64_t evaluations = 0;
  std::int64_t tasks = 0;
  std::int64_t backups = 0;  // Of these, for portions that another worker had.
  std::int64_t bytes = 0;    // Both ways.
  std::int64_t messages = 0;

  bool operator==(const SandblasterProgress&) const = default;
};

using SandblasterMessage = std::variant<VectorBatch, VectorBatchDone, PortionTask, PortionDone, PointRequest,
                                        PointReply, PortionPush, PortionPushDone, PointInit, PointInitDone,
                                        ProgressRequest, SandblasterProgress>;

std::vector<std::byte> encode(const SandblasterMessage& message);
// Throws NetError for bytes that no encode() has made.
SandblasterMessage decode_sandblaster(std::span<const std::byte> bytes);

// Takes messages away. Payloads are consumed before send() returns, or kept alive by their owner. Messages
// may be lost, late, out of order or twice.
class SandblasterOutbox {
 public:
  virtual ~SandblasterOutbox() = default;
  virtual void send(const NodeId& to, const SandblasterMessage& message) = 0;
};

}  // namespace hocket
