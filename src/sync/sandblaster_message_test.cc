#include "sync/sandblaster_message.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "ps/test_payload.h"

namespace hocket {
namespace {

std::vector<SandblasterMessage> one_of_each() {
  return {VectorBatch{3, 2, 16, {copy_op(2, 0), scale_op(4, -0.5), add_op(2, 0.25, 4), dot_op(1, 1)}},
          VectorBatchDone{3, {{1.5, 1e-20}, {-2, 0}}},
          PortionTask{9, 2, 3, 16},
          PortionDone{9, 0.125},
          PointRequest{2},
          PointReply{2, true, payload({1, 2, 3})},
          PortionPush{2, 3, payload({4})},
          PortionPushDone{2, 3},
          PointInit{payload({5, 6})},
          PointInitDone{},
          ProgressRequest{12},
          SandblasterProgress{LbfgsState::converged, 7, 0.5, 1e-9, 9, 80, 3, 4000, 200}};
}

TEST(SandblasterMessage, ReadsBackWhatWasWritten) {
  for (const SandblasterMessage& message : one_of_each()) {
    const std::vector<std::byte> bytes = encode(message);
    const SandblasterMessage again = decode_sandblaster(bytes);
    EXPECT_EQ(again.index(), message.index());
    EXPECT_EQ(encode(again), bytes);
  }
}

TEST(SandblasterMessage, RefusesEveryBeginningAndEverySurplus) {
  for (const SandblasterMessage& message : one_of_each()) {
    std::vector<std::byte> bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_THROW(decode_sandblaster(std::span(bytes).first(length)), NetError)
          << message.index() << " " << length;
    }
    bytes.push_back(std::byte{0});
    EXPECT_THROW(decode_sandblaster(bytes), NetError) << message.index();
  }
}

TEST(SandblasterMessage, SurvivesDamage) {
  Rng rng({1});
  for (const SandblasterMessage& message : one_of_each()) {
    const std::vector<std::byte> bytes = encode(message);
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> damaged = bytes;
      damaged[rng.below(damaged.size())] ^= static_cast<std::byte>(1 + rng.below(255));
      try {
        encode(decode_sandblaster(damaged));
      } catch (const NetError&) {
      }
    }
  }
}

}  // namespace
}  // namespace hocket
