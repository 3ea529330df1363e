#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/checkpoint_store.h"
#include "train/test_checkpoint.h"
#include "train/trainer.h"

// Runs whose ranks are threads, on any mesh.
namespace hocket {

inline TrainOptions mlp_options() {
  TrainOptions options;
  options.model = "mlp,hidden=12x10x8,dropout=0.3";
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 24;  // The last batch of an epoch is shorter.
  options.steps = 4;
  options.threads = 1;
  options.micro_batches = 4;
  return options;
}

struct PipelineOutcome {
  std::vector<TrainResult> results;  // By rank.
  std::vector<std::string> errors;
  std::vector<NamedTensor> tensors;  // Of its last checkpoint.

  std::string hash() const { return results.at(0).parameter_hash; }
};

inline PipelineOutcome train_on(const std::string& mesh_text, TrainOptions options,
                                Medium medium = Medium::inproc) {
  const TestFolder folder;
  options.out = folder.path().string();
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  const Mesh mesh = Mesh::parse(mesh_text, 0);
  PipelineOutcome outcome;
  outcome.results.resize(static_cast<std::size_t>(mesh.size()));
  if (mesh.size() == 1) {
    Team alone;
    outcome.results[0] = train(options, nobody, stop, alone);
  } else {
    const auto body = [&](std::unique_ptr<Transport> transport) {
      const auto rank = static_cast<std::size_t>(transport->rank());
      Team team(std::move(transport), mesh);
      outcome.results[rank] = train(options, nobody, stop, team);
    };
    outcome.errors = run_ranks(mesh.size(), body, medium);
    for (const std::string& error : outcome.errors) EXPECT_EQ(error, "");
  }
  Team alone;
  const auto saved = CheckpointStore(folder.path() / "checkpoints", alone).open_newest();
  if (saved) outcome.tensors = read_whole(*saved);
  return outcome;
}

inline TrainOptions with(TrainOptions options, const std::string& schedule, int micro_batches) {
  options.schedule = schedule;
  options.micro_batches = micro_batches;
  return options;
}

}  // namespace hocket
