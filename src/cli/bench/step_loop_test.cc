#include "cli/bench/step_loop.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

double flops_of_sample(std::string_view name) {
  const std::vector<StepSetup> setups = step_setups();
  const StepSetup& setup = find_step_setup(setups, name);
  const auto graph = build_model(parse_model(setup.name), setup.sample, setup.batch);
  return training_flops(*graph) / static_cast<double>(setup.batch);
}

TEST(TrainingFlops, AreTwiceAMultiplyAddForwardTwiceBackwardButForTheData) {
  EXPECT_DOUBLE_EQ(flops_of_sample("mlp"), 2.0 * (2 * 784 * 512 + 3 * 512 * 512 + 3 * 512 * 10));
  EXPECT_DOUBLE_EQ(flops_of_sample("lenet"),
                   2.0 * (2 * 32 * 9 * 28 * 28 + 3 * 64 * 32 * 9 * 14 * 14 + 3 * 3136 * 128 + 3 * 128 * 10));
  const double block = 12 * 256 * 256 + 2 * 128 * 256;
  EXPECT_DOUBLE_EQ(flops_of_sample("gpt"), 128 * 2.0 * 3 * (4 * block + 256 * 256));
}

TEST(StepSetup, UnknownModelIsRefusedWithTheNamesThereAre) {
  const std::vector<StepSetup> setups = step_setups();
  try {
    find_step_setup(setups, "lenett");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("mlp, lenet, resnet20, gpt"), std::string::npos) << error.what();
  }
}

TEST(StepLoop, TrainsOnItsOwnData) {
  const std::vector<StepSetup> setups = step_setups();
  StepSetup setup = find_step_setup(setups, "mlp");
  setup.preloaded = setup.batch;
  StepLoop loop(setup);
  EXPECT_GT(loop.run(3), 0);
}

TEST(StepLoop, RanksWithDataOfTheirOwnKeepEqualParameters) {
  const std::vector<StepSetup> setups = step_setups();
  StepSetup setup = find_step_setup(setups, "mlp");
  setup.batch = 8;
  setup.preloaded = 16;
  std::vector<std::vector<std::byte>> before(2);
  std::vector<std::vector<std::byte>> after(2);
  const std::vector<std::string> errors = run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    MeshGroups groups(std::move(transport), Mesh({{"dp", 2}}));
    Communicator communicator(groups, false);
    StepLoop loop(setup, &communicator);
    const auto rank = static_cast<std::size_t>(groups.rank());
    before[rank].assign(loop.parameters().begin(), loop.parameters().end());
    loop.run(3);
    after[rank].assign(loop.parameters().begin(), loop.parameters().end());
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_TRUE(after[0] == after[1]);
  EXPECT_FALSE(after[0] == before[0]);
}

}  // namespace
}  // namespace hocket
