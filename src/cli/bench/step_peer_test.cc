#include "cli/bench/step_peer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/bench/torch_peers.h"

namespace hocket {
namespace {

StepPeer peer_of(std::vector<double> seconds_a_step) {
  StepPeer peer;
  for (const double seconds : seconds_a_step) {
    peer.workers.push_back(std::make_unique<PeerProcess>(
        usable_processors(), [seconds] { serve_steps([seconds](int steps) { return seconds * steps; }); }));
  }
  return peer;
}

TEST(StepPeer, TakesAsLongAsItsSlowestWorker) {
  StepPeer peer = peer_of({0.25, 0.5, 0.125});
  EXPECT_DOUBLE_EQ(peer.run(2), 1.0);
}

TEST(StepPeer, FindsHowManyStepsFillARound) {
  StepPeer peer = peer_of({0.25, 0.5});
  peer.calibrate(4);
  EXPECT_EQ(peer.steps, 8);
  peer.calibrate(0.001);
  EXPECT_EQ(peer.steps, 1);
}

TEST(StepPeer, ReportsAWorkerThatHasEnded) {
  StepPeer peer = peer_of({0.25});
  peer.workers.push_back(std::make_unique<PeerProcess>(
      usable_processors(), [] { serve_steps([](int) -> double { throw Error("a failure of the test"); }); }));
  EXPECT_THROW(peer.run(1), Error);
}

TEST(StepPeer, WorkersHaveTheLastProcessorsAndShareNone) {
  const std::vector<int> all = usable_processors();
  EXPECT_EQ(processors_of(0, 1, 1), std::vector<int>{all.back()});
  const int workers = static_cast<int>(all.size());
  for (int worker = 0; worker < workers; ++worker) {
    EXPECT_EQ(processors_of(worker, workers, 1), std::vector<int>{all[static_cast<std::size_t>(worker)]});
  }
  EXPECT_THROW(processors_of(0, workers, 2), ConfigError);
}

TEST(TorchPeers, WorkersRunWithWhatIsBestForOne) {
  EXPECT_EQ(
      settings_for_workers(R"({"ATEN_CPU_CAPABILITY": "avx2", "settings": ["channels_last", "foreach"]})"),
      (std::vector<std::string>{"avx2", "channels_last,foreach"}));
  EXPECT_EQ(settings_for_workers(R"({"ATEN_CPU_CAPABILITY": "avx512", "settings": []})"),
            (std::vector<std::string>{"avx512", ""}));
}

}  // namespace
}  // namespace hocket
