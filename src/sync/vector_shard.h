#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sync/lbfgs.h"
#include "sync/sandblaster_message.h"

namespace hocket {

// One server of Sandblaster: its range of all vectors of L-BFGS, as a state machine. Used by one thread,
// never blocks. Runs each batch of operations once, and adds each portion's gradient once per evaluation, in
// the order of the portions whatever the order of their arrival, so that timing changes no bit. What does not
// fit is ignored.
class VectorShard {
 public:
  VectorShard(std::int64_t length, int history, SandblasterOutbox& out);

  void on_message(const NodeId& from, const SandblasterMessage& message);

  std::span<const double> point() { return vectors_.at(kPoint); }
  std::int64_t portions_counted() const { return portions_counted_; }
  std::int64_t portions_ignored() const { return portions_ignored_; }  // They were here, or came too late.

 private:
  void on_body(const NodeId& from, const VectorBatch& batch);
  void on_body(const NodeId& from, const PointRequest& request);
  void on_body(const NodeId& from, const PortionPush& push);
  void on_body(const NodeId& from, const PointInit& init);
  template <typename Other>
  void on_body(const NodeId& /*from*/, const Other& /*not for a server*/) {}

  bool is_new(const PortionPush& push) const;
  void add_waiting();

  LocalVectors vectors_;
  SandblasterOutbox& out_;
  VectorBatchDone last_;  // The newest batch's.
  bool has_begun_ = false;
  std::int64_t evaluation_ = 0;
  std::int32_t portions_ = 0;
  std::int32_t next_portion_ = 0;            // Of the sum.
  std::map<std::int32_t, Payload> waiting_;  // Portions that came before their turn.
  std::int64_t portions_counted_ = 0;
  std::int64_t portions_ignored_ = 0;
};

}  // namespace hocket
