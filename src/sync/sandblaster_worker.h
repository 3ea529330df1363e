#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "net/clock.h"
#include "sync/sandblaster_message.h"

namespace hocket {

// A model replica under Sandblaster, as a state machine: is given a portion, reads the point of the
// evaluation from the servers if it has not yet, asks for the gradient, pushes it to all servers, and tells
// the coordinator once they all have it. Used by one thread, never blocks.
class SandblasterWorker {
 public:
  enum class Need : std::uint8_t { messages, gradient };

  // Server i holds lengths[i] elements, one range after the other.
  SandblasterWorker(const NodeId& coordinator, const std::vector<std::int64_t>& lengths,
                    SandblasterOutbox& out, Seconds patience = Seconds(0.25));

  void on_message(const NodeId& from, const SandblasterMessage& message, TimePoint now);
  void on_time(TimePoint now);  // Sends again what was not answered.

  Need need() const { return stage_ == Stage::computing ? Need::gradient : Need::messages; }
  const PortionTask& task() const { return task_; }         // While need() is gradient,
  std::span<const double> point() const { return point_; }  // and where.
  // The portion's part of the function and of its gradient, which is as long as the point.
  void finish(double value, std::span<const double> gradient, TimePoint now);

 private:
  enum class Stage : std::uint8_t { idle, reading, computing, pushing };

  void on_body(const NodeId& from, const PortionTask& task, TimePoint now);
  void on_body(const NodeId& from, const PointReply& reply, TimePoint now);
  void on_body(const NodeId& from, const PortionPushDone& done, TimePoint now);
  template <typename Other>
  void on_body(const NodeId& /*from*/, const Other& /*not for a worker*/, TimePoint /*now*/) {}

  void begin(const PortionTask& task, TimePoint now);
  void enter(Stage stage, TimePoint now);
  void ask(std::size_t server);
  void ask_all();  // Those that have not answered.
  bool take_answer(const NodeId& from);
  void report_done();

  NodeId coordinator_;
  std::vector<std::int64_t> begins_;  // Of each server's range, and the end of the last.
  SandblasterOutbox& out_;
  Seconds patience_;

  Stage stage_ = Stage::idle;
  PortionTask task_;
  std::optional<PortionTask> next_;  // Came while it was computing.
  double value_ = 0;
  std::vector<double> point_;
  std::int64_t point_evaluation_ = 0;
  std::shared_ptr<const std::vector<double>> gradient_;
  std::vector<bool> has_answered_;  // By server.
  std::size_t answers_ = 0;
  TimePoint asked_at_{};
};

}  // namespace hocket
