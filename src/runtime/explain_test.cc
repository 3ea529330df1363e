#include "runtime/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nn/model.h"

namespace hocket {
namespace {

constexpr std::int64_t kClasses = 12;

SampleSpec text() {
  SampleSpec spec;
  spec.fields = {{"tokens", DType::i32, {8}}, {"label", DType::i32, {8}}};
  spec.target = Target::next_token;
  spec.classes = kClasses;
  return spec;
}

SampleSpec images() {
  SampleSpec spec;
  spec.fields = {{"image", DType::f32, {3, 32, 32}}, {"label", DType::i32, {}}};
  spec.classes = kClasses;
  return spec;
}

ProgramOptions on(const std::string& mesh, int zero = 0) {
  ProgramOptions options;
  options.optimizer.rule = "adamw";
  options.place.mesh = Mesh::parse(mesh, 0);
  options.zero = zero;
  return options;
}

StepExplanation explain(const std::string& model, const SampleSpec& spec, const ProgramOptions& options) {
  const std::unique_ptr<Graph> forward = build_model(parse_model(model), spec, 16);
  return explain_step(training_step(*forward, options), options);
}

// "all_reduce along tp of VALUE"
std::vector<std::string> collectives(const StepExplanation& step, Phase phase) {
  std::vector<std::string> texts;
  for (const StepCollective& item : step.collectives) {
    if (item.phase == phase)
      texts.push_back(fmt::format("{} along {} of {}", name_of(item.collective), item.axis, item.value));
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ExplainStep, TensorParallelBlocksReduceTwiceEachWay) {
  const StepExplanation step = explain("gpt,layers=2,width=16,heads=2,dropout=0", text(), on("tp=2"));
  const std::string sum = "all_reduce along tp of ";
  EXPECT_EQ(collectives(step, Phase::forward),
            (Texts{sum + "tok",  // The embedding, cut by symbols.
                   sum + "blocks.0.attn.proj.product", sum + "blocks.0.mlp.down.product",
                   sum + "blocks.1.attn.proj.product", sum + "blocks.1.mlp.down.product", sum + "loss.max",
                   sum + "loss.exp:1", sum + "loss.pick"}));  // Of scores cut by class.
  EXPECT_EQ(collectives(step, Phase::backward),
            (Texts{sum + "d.rows",  // The head's.
                   sum + "d.blocks.1.ln2", sum + "d.blocks.1.ln1", sum + "d.blocks.0.ln2",
                   sum + "d.blocks.0.ln1"}));
  EXPECT_EQ(collectives(step, Phase::update), (Texts{}));
}

TEST(ExplainStep, CompressedGradientsAreNamed) {
  ProgramOptions options = on("dp=2");
  options.compress = Compression::parse("int8");
  const StepExplanation step = explain("mlp,hidden=16", images(), options);
  ASSERT_EQ(step.collectives.size(), 1U);
  EXPECT_EQ(step.collectives[0].collective, Collective::all_gather);
  EXPECT_TRUE(step.collectives[0].value.starts_with("compressed gradient of ")) << step.collectives[0].value;
  ASSERT_EQ(step.buckets.size(), 1U);
  EXPECT_EQ(step.buckets[0].parameters.size(), 4U);
}

TEST(ExplainStep, DataParallelStepsOnlyReduceGradients) {
  const StepExplanation step = explain("resnet,depth=20", images(), on("dp=2"));
  ASSERT_EQ(step.collectives.size(), 1U);
  const StepCollective& sum = step.collectives[0];
  EXPECT_EQ(sum.phase, Phase::backward);
  EXPECT_EQ(sum.collective, Collective::all_reduce);
  EXPECT_EQ(sum.from, "partial(sum)");
  EXPECT_EQ(sum.to, "replicated");
  EXPECT_EQ(sum.ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(sum.sent_bytes, sum.bytes);  // 2(P-1)/P with two ranks.
  ASSERT_EQ(step.buckets.size(), 1U);
  EXPECT_EQ(step.buckets[0].bytes, sum.bytes);
  EXPECT_EQ(step.buckets[0].parameters.size(), 59U);
}

TEST(ExplainStep, GradientsTravelInBuckets) {
  ProgramOptions options = on("dp=4");
  options.bucket_bytes = 256 << 10;
  const StepExplanation step = explain("resnet,depth=20", images(), options);
  EXPECT_GT(step.buckets.size(), 2U);
  EXPECT_EQ(step.buckets.size(), step.collectives.size());
}

TEST(ExplainStep, ZeroShardsWhatARankKeeps) {
  const auto footprint = [](int level) {
    return explain("resnet,depth=20", images(), on("dp=4", level)).footprint;
  };
  const StepFootprint whole = footprint(0);
  EXPECT_EQ(whole.gathered, 0U);
  for (int level = 1; level <= 3; ++level) {
    SCOPED_TRACE(level);
    const auto is_quarter = [](std::size_t part, std::size_t all) {
      return part >= all / 4 && part < all / 4 + all / 20;
    };
    const StepFootprint own = footprint(level);
    EXPECT_TRUE(is_quarter(own.state, whole.state)) << own.state;
    EXPECT_EQ(is_quarter(own.gradients, whole.gradients), level >= 2) << own.gradients;
    EXPECT_EQ(is_quarter(own.parameters, whole.parameters), level == 3) << own.parameters;
    EXPECT_EQ(own.gathered > 0, level == 3);
  }
}

TEST(ExplainStep, ZeroSumsIntoSlicesAndGathersThem) {
  EXPECT_EQ(collectives(explain("mlp,hidden=16", images(), on("dp=2", 2)), Phase::backward),
            (Texts{"reduce_scatter along dp of zero.0.gradient"}));
  EXPECT_EQ(collectives(explain("mlp,hidden=16", images(), on("dp=2", 2)), Phase::update),
            (Texts{"all_gather along dp of zero.0"}));
  EXPECT_EQ(collectives(explain("mlp,hidden=16", images(), on("dp=2", 3)), Phase::forward),
            (Texts{"all_gather along dp of zero.0"}));
}

TEST(ExplainStep, ForwardAndBackwardCommunicateOnceAMicroBatch) {
  ProgramOptions options = on("tp=2");
  const auto sent = [&](int micro_batches, Phase phase) {
    options.micro_batches = micro_batches;
    return totals_of(explain("mlp", images(), options))[{"tp", phase}];
  };
  const StepTotal once = sent(1, Phase::forward), twice = sent(2, Phase::forward);
  EXPECT_GT(once.count, 0);
  EXPECT_EQ(twice.count, 2 * once.count);
  EXPECT_EQ(twice.sent_bytes, 2 * once.sent_bytes);
}

// Two hosts of two ranks, ten times as far from each other as their ranks are.
Topology two_hosts() {
  const TopologyNode device{Edge{Seconds(1e-6), 1e-10}};
  const TopologyNode host{Edge{Seconds(20e-6), 1e-9}, {TopologyNode{Edge{}, {device, device}}}};
  return Topology({TopologyNode{Edge{}, {host, host}}});
}

TEST(MeshPrices, TheAxisThatTalksMostBelongsInsideAHost) {
  const StepExplanation step = explain("gpt,layers=2,width=16,heads=2,dropout=0", text(), on("dp=2,tp=2"));
  MeshPrices own(Mesh({{"dp", 2}, {"tp", 2}}), two_hosts());
  MeshPrices swapped(Mesh({{"tp", 2}, {"dp", 2}}), two_hosts());
  const StepPrice good = price_of(step, own), bad = price_of(step, swapped);
  EXPECT_LT(good.host_bytes, bad.host_bytes);
  EXPECT_LT(good.seconds, bad.seconds);
  EXPECT_EQ(good.rack_bytes, 0U);
}

TEST(MeshPrices, CountsWhatCrossesHosts) {
  MeshPrices prices(Mesh({{"dp", 2}, {"tp", 2}}), two_hosts());
  const auto crossing = [&](const char* axis) {
    return prices.price(Collective::all_reduce, 1 << 20, axis).bytes[static_cast<std::size_t>(Level::host)];
  };
  EXPECT_EQ(crossing("tp"), 0U);
  EXPECT_EQ(crossing("dp"), 4U << 20);  // Each of four ranks sends 2(P-1)/P of it.
}

}  // namespace
}  // namespace hocket
