// Stages of a pipeline, as threads, reach the bits that one worker reaches with the same micro-batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "train/test_pipeline.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TrainOptions gpt_options() {
  TrainOptions options = mlp_options();
  options.model = "gpt,layers=3,width=16,heads=2,dropout=0.1";
  options.data = "synthetic:text,samples=64";
  options.batch = 8;
  options.steps = 3;
  return options;
}

TrainOptions image_options(const std::string& model) {
  TrainOptions options = mlp_options();
  options.model = model;
  options.data = "synthetic:1x16x16:3:32";
  options.batch = 16;
  options.steps = 2;
  return options;
}

bool same_bytes(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  const auto same = [](const NamedTensor& x, const NamedTensor& y) {
    const auto own = x.second.bytes(), other = y.second.bytes();
    return x.first == y.first && std::equal(own.begin(), own.end(), other.begin(), other.end());
  };
  return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

void expect_same(const PipelineOutcome& alone, const PipelineOutcome& together) {
  for (const TrainResult& result : together.results) {
    EXPECT_EQ(result.parameter_hash, alone.hash());
    EXPECT_DOUBLE_EQ(result.train_loss, alone.results[0].train_loss);
    ASSERT_TRUE(result.test && alone.results[0].test);
    EXPECT_DOUBLE_EQ(result.test->loss, alone.results[0].test->loss);
    EXPECT_EQ(result.test->accuracy, alone.results[0].test->accuracy);
  }
  EXPECT_TRUE(same_bytes(alone.tensors, together.tensors));
}

TEST(Pipeline, GivesTheBitsOfOneWorkerForEveryScheduleAndNumberOfMicroBatches) {
  for (const int micro_batches : {1, 2, 4, 8}) {
    const PipelineOutcome alone = train_on("", with(mlp_options(), "", micro_batches));
    for (const int stages : {2, 3, 4}) {
      for (const std::string schedule : {"naive", "gpipe", "1f1b"}) {
        SCOPED_TRACE(fmt::format("{} stages, {} micro-batches, {}", stages, micro_batches, schedule));
        expect_same(alone,
                    train_on(fmt::format("pp={}", stages), with(mlp_options(), schedule, micro_batches)));
      }
    }
  }
}

TEST(Pipeline, GivesTheBitsOfOneWorkerForEveryModel) {
  for (const TrainOptions& options :
       {gpt_options(), image_options("lenet"), image_options("resnet,depth=8")}) {
    SCOPED_TRACE(options.model);
    const PipelineOutcome alone = train_on("", with(options, "", 4));
    expect_same(alone, train_on("pp=2", with(options, "1f1b", 4)));
    expect_same(alone, train_on("pp=3", with(options, "gpipe", 4)));
  }
}

TEST(Pipeline, GivesTheBitsOfOneWorkerInterleaved) {
  TrainOptions options = gpt_options();
  const PipelineOutcome alone = train_on("", options);
  expect_same(alone, train_on("pp=2", with(options, "interleaved,chunks=2", 4)));
  expect_same(alone, train_on("pp=2", with(options, "interleaved,chunks=3", 4)));
  options = image_options("resnet,depth=8");
  expect_same(train_on("", options), train_on("pp=2", with(options, "interleaved", 4)));
  expect_same(train_on("", mlp_options()), train_on("pp=2", with(mlp_options(), "interleaved", 4)));
}

TEST(Pipeline, GivesTheSameBitsHoweverMessagesTravel) {
  const PipelineOutcome alone = train_on("", gpt_options());
  for (const Medium medium : {Medium::shm, Medium::tcp}) {
    expect_same(alone, train_on("pp=2", with(gpt_options(), "1f1b", 4), medium));
    expect_same(alone, train_on("pp=3", with(gpt_options(), "gpipe", 4), medium));
  }
}

TEST(Pipeline, TrainsTiedWeightsOnce) {
  TrainOptions options = gpt_options();
  options.model = "gpt,layers=2,width=8,heads=2,tied=1";
  options.dtype = "f64";
  options.steps = 2;
  const PipelineOutcome alone = train_on("", options);
  for (const std::string mesh : {"pp=2", "pp=3"}) {
    const PipelineOutcome together = train_on(mesh, options);
    EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-10);
    EXPECT_NEAR(together.results[0].test->loss, alone.results[0].test->loss, 1e-10);
  }
}

TEST(Pipeline, GoesWithReplicasAndCutLayers) {
  TrainOptions options = gpt_options();
  options.model = "gpt,layers=2,width=8,heads=2,tied=1";
  options.dtype = "f64";
  options.steps = 2;
  options.micro_batches = 2;
  const PipelineOutcome alone = train_on("", options);
  for (const std::string mesh : {"pp=2,dp=2", "pp=2,tp=2", "pp=2,dp=2,tp=2"}) {
    SCOPED_TRACE(mesh);
    const PipelineOutcome together = train_on(mesh, options);
    EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-10);
    for (const TrainResult& result : together.results) {
      EXPECT_NEAR(result.test->loss, alone.results[0].test->loss, 1e-10);
      EXPECT_EQ(result.parameter_hash, together.hash());
    }
  }
}

TEST(Pipeline, ClipsByTheNormOfAllStages) {
  TrainOptions options = mlp_options();
  options.optimizer.clip = 0.1;
  options.gradient_norms = true;
  expect_same(train_on("", options), train_on("pp=3", options));
}

// The norm is added up in the same blocks, however they lie.
TEST(Pipeline, ShardsOptimizerStateClippedAndInChunks) {
  TrainOptions options = mlp_options();
  options.optimizer.clip = 0.1;
  options.bucket = 256;
  for (const int zero : {1, 2, 3}) {
    options.zero = zero;
    SCOPED_TRACE(fmt::format("zero {}", zero));
    const PipelineOutcome replicas = train_on("dp=2", options);
    expect_same(replicas, train_on("pp=2,dp=2", with(options, "1f1b", 4)));
    if (zero < 3) expect_same(replicas, train_on("pp=2,dp=2", with(options, "interleaved", 4)));
  }
}

TEST(Pipeline, KeepsAsManyMicroBatchesAsTheScheduleSays) {
  TrainOptions options = gpt_options();
  options.micro_batches = 8;
  const PipelineOutcome one = train_on("pp=2", with(options, "naive", 8));
  const PipelineOutcome all = train_on("pp=2", with(options, "gpipe", 8));
  const PipelineOutcome few = train_on("pp=2", with(options, "1f1b", 8));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::int64_t each = one.results[0].activation_bytes.at(rank);
    EXPECT_GT(each, 0);
    EXPECT_EQ(all.results[0].activation_bytes.at(rank), 8 * each);
    EXPECT_EQ(few.results[0].activation_bytes.at(rank), (rank == 0 ? 2 : 1) * each);
  }
}

TEST(Pipeline, TakesTheStagesThatTheUserNames) {
  TrainOptions options = image_options("lenet");
  const PipelineOutcome alone = train_on("", options);
  options.stages = "conv1|conv2,fc1";
  expect_same(alone, train_on("pp=2", options));
}

TEST(Recompute, GivesTheSameBitsAndKeepsLess) {
  for (const TrainOptions& given : {gpt_options(), image_options("resnet,depth=8"), mlp_options()}) {
    SCOPED_TRACE(given.model);
    TrainOptions options = given;
    const PipelineOutcome kept = train_on("pp=2", options);
    options.recompute = true;
    const PipelineOutcome again = train_on("pp=2", options);
    expect_same(kept, again);
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_LT(again.results[0].activation_bytes.at(rank), kept.results[0].activation_bytes.at(rank));
  }
}

std::string refusal_on(const std::string& mesh_text, const TrainOptions& options) {
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  const Mesh mesh = Mesh::parse(mesh_text, 0);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), mesh);
    train(options, nobody, stop, team);
  };
  return run_ranks(mesh.size(), body)[0];
}

TEST(Pipeline, RefusesWhatDoesNotFit) {
  TrainOptions options = mlp_options();
  EXPECT_THAT(refusal_on("pp=2", with(options, "1f1b", 5)), HasSubstr("batch 24 cannot be cut evenly in 5"));
  EXPECT_THAT(refusal_on("pp=7", options), HasSubstr("cut in 4 stages at most, and 7"));
  EXPECT_THAT(refusal_on("pp=2", with(options, "interleaved", 3)), HasSubstr("2 stages do not divide 3"));
  EXPECT_THAT(refusal_on("pp=2", with(options, "gpip", 4)), HasSubstr("gpipe"));
  options.stages = "fc1|";
  EXPECT_THAT(refusal_on("pp=2", options), HasSubstr("stage 1 is empty"));
  options.stages = "fc2|fc1";
  EXPECT_THAT(refusal_on("pp=2", options), HasSubstr("comes later"));
  options.stages = "fc1|fc9";
  EXPECT_THAT(refusal_on("pp=2", options), HasSubstr("no layer fc9"));
}

}  // namespace
}  // namespace hocket
