#include "sync/vector_shard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ps/test_payload.h"

namespace hocket {
namespace {

class Sent final : public SandblasterOutbox {
 public:
  void send(const NodeId& /*to*/, const SandblasterMessage& message) override { messages.push_back(message); }
  template <typename Body>
  const Body& last() const {
    return std::get<Body>(messages.back());
  }
  std::vector<SandblasterMessage> messages;
};

class VectorShardTest : public testing::Test {
 protected:
  void give(const SandblasterMessage& message) { shard.on_message(kCoordinator, message); }
  std::vector<double> gradient() {
    give({VectorBatch{++sequence, 0, 0, {dot_op(kTrialGradient, kTrialGradient)}}});
    return rounded(sent.last<VectorBatchDone>().dots);
  }
  void begin(std::int64_t evaluation, std::int32_t portions) {
    give({VectorBatch{++sequence, evaluation, portions, {copy_op(kTrial, kPoint)}}});
  }

  Sent sent;
  VectorShard shard{2, 3, sent};
  std::int64_t sequence = 0;
};

TEST_F(VectorShardTest, RunsABatchOnceAndAnswersItEachTime) {
  give({PointInit{payload({3, 4})}});
  const VectorBatch batch{1, 0, 0, {scale_op(kPoint, 2), dot_op(kPoint, kPoint)}};
  for (int i = 0; i < 3; ++i) {
    give(batch);
    EXPECT_EQ(rounded(sent.last<VectorBatchDone>().dots), std::vector{100.0});
  }
  EXPECT_EQ(sent.messages.size(), 4U);
  give({VectorBatch{3, 0, 0, {}}});  // The second is missing.
  EXPECT_EQ(sent.messages.size(), 4U);
}

TEST_F(VectorShardTest, AddsAPortionOnceInTheOrderOfPortions) {
  begin(1, 3);
  give({PortionPush{1, 2, payload({1e16, 0})}});
  give({PortionPush{1, 1, payload({-1e16, 0})}});
  give({PortionPush{1, 2, payload({7, 7})}});
  EXPECT_EQ(gradient(), std::vector{0.0});
  give({PortionPush{1, 0, payload({1, 0})}});
  give({PortionPush{1, 0, payload({1, 0})}});
  const double sum = (1 - 1e16) + 1e16;
  EXPECT_EQ(gradient(), std::vector{sum * sum});
  EXPECT_EQ(shard.portions_counted(), 3);
  EXPECT_EQ(shard.portions_ignored(), 2);
}

TEST_F(VectorShardTest, ForgetsPortionsOfAnEvaluationThatIsOver) {
  begin(1, 2);
  give({PortionPush{1, 1, payload({5, 5})}});
  begin(2, 2);
  give({PortionPush{1, 0, payload({5, 5})}});
  EXPECT_EQ(std::get<PortionPushDone>(sent.messages.back()).evaluation, 1);  // So that its worker goes on.
  EXPECT_EQ(gradient(), std::vector{0.0});
  give({PointRequest{1}});
  EXPECT_TRUE(sent.last<PointReply>().is_over);
}

TEST_F(VectorShardTest, GivesThePointOfTheEvaluation) {
  give({PointInit{payload({3, 4})}});
  begin(1, 1);
  give({PointInit{payload({9, 9})}});  // Too late.
  give({PointRequest{1}});
  EXPECT_EQ(sent.last<PointReply>().values.values<double>()[1], 4);
  give({PointRequest{0}});
  EXPECT_EQ(sent.last<PointReply>().values.values<double>()[0], 3);
}

TEST_F(VectorShardTest, IgnoresWhatDoesNotFit) {
  begin(1, 2);
  const std::size_t before = sent.messages.size();
  give({PortionPush{1, 2, payload({1, 1})}});
  give({PortionPush{1, -1, payload({1, 1})}});
  give({PortionPush{1, 0, payload({1})}});
  give({PortionPush{9, 0, payload({1, 1})}});
  give({PointInit{payload({1})}});
  give({VectorBatch{2, 0, 0, {copy_op(200, kPoint)}}});
  give({PortionTask{}});
  EXPECT_EQ(sent.messages.size(), before);
}

}  // namespace
}  // namespace hocket
