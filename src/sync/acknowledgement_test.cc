// Under which disciplines a worker whose gradient lies in its own memory waits for the gradient to be used.
#include <gtest/gtest.h>

#include "ps/range_state.h"
#include "sync/discipline.h"

namespace hocket {
namespace {

class Servers {
 public:
  Servers(std::string_view sync, int workers)
      : options_{workers, make_consistency(Discipline::parse(sync), workers)}, state_(options_) {
    Init init;
    init.spec.optimizer.rule = "sgd";
    init.spec.rate.base = 0.1;
    init.spec.segments = {{0, 4}};
    EXPECT_EQ(make(kRecorder, init), 1U);
  }

  // How many changes may be acknowledged now.
  std::size_t push(int worker, std::int64_t clock) {
    Push push;
    push.slice = worker;
    push.clock = clock;
    push.version = state_.progress().version;
    push.values = {std::as_bytes(std::span(gradient_)), nullptr};
    return make(worker_node(worker), push);
  }

 private:
  std::size_t make(const NodeId& client, const Change& change) {
    ChangeRequest request;
    request.client = client;
    request.sequence = {0, ++numbers_[client]};
    request.change = change;
    return state_.make(request).size();
  }

  ReplicaOptions options_;
  RangeState state_;
  std::map<NodeId, std::int64_t> numbers_;
  std::vector<float> gradient_{1, 2, 3, 4};
};

TEST(Acknowledgement, ComesWithTheUpdateWhereAllWaitForIt) {
  Servers bsp("ps:bsp", 2);
  EXPECT_EQ(bsp.push(0, 0), 0U);
  EXPECT_EQ(bsp.push(1, 0), 2U);
}

TEST(Acknowledgement, ComesAtOnceWhereNobodyWaits) {
  Servers softsync("ps:softsync,n=1", 3);  // Three gradients an update.
  for (int worker = 0; worker < 3; ++worker) EXPECT_EQ(softsync.push(worker, 0), 1U);
  Servers asp("ps:asp", 3);
  EXPECT_EQ(asp.push(2, 0), 1U);
}

TEST(Acknowledgement, ComesAtOnceForALateGradient) {
  for (const std::string_view late : {"ps:kofn,k=1,late=merge", "ps:kofn,k=1,late=drop"}) {
    Servers kofn(late, 2);
    EXPECT_EQ(kofn.push(0, 0), 1U);
    EXPECT_EQ(kofn.push(1, 0), 1U);
  }
}

}  // namespace
}  // namespace hocket
