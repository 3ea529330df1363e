#pragma once

#include <cstdint>
#include <string>

#include "nn/optimizer.h"

namespace hocket {

// What `hocket train` is asked to do, with its defaults. Zero or empty where the trainer chooses.
struct TrainOptions {
  std::string model = "lenet";
  std::string data = "fashion-mnist";
  std::string test_data{};
  double validation = 0;  // Share of the training data held out; then accuracy is of that part.
  int folds = 0;          // Cross-validation: `fold` of `folds` is held out.
  int fold = 0;
  std::string augment{};  // As parse_augment() of data/augment.h reads it.

  std::int64_t epochs = 0;  // 0: as many as `steps` needs, or 1.
  std::int64_t steps = 0;   // 0: whole epochs.
  std::int64_t batch = 0;   // Over all workers; 0: 128, or 16 for text.
  int micro_batches = 1;

  OptimizerSpec optimizer{};
  double learning_rate = 0;  // 0: the optimizer's default.
  std::string lr_schedule = "constant";
  std::string lr_rule = "none";  // linear: the rate grows with the batch, relative to `lr_base_batch`.
  std::int64_t lr_base_batch = 128;
  std::int64_t warmup = 0;  // Steps.

  std::string dtype = "f32";  // f32, bf16, or f64 on the reference kernels.
  std::uint64_t seed = 1;
  int threads = 0;  // 0: as many as there are cores for this process.

  int workers = 0;  // 0: as many as the mesh or the job has, or 1.
  std::string sync =
      "allreduce";  // How replicas agree, as Discipline::parse() of sync/discipline.h reads it.
  bool allow_disconnected = false;  // Gossip on a graph whose workers cannot all hear of each other.
  int servers = 0;                  // 0: one, where the discipline has any.
  int replicas = 1;                 // Servers that hold each range.
  bool whole_tables = false;        // Tables travel whole, not by the rows of the batch.
  std::string mesh{};               // As Mesh::parse() reads it; empty: all workers along dp.
  std::string schedule{};           // Of a pipeline, as PipelinePlan::parse() reads it; empty: 1f1b.
  std::string stages{};             // As assign_stages() reads it; empty: of about the same work.
  bool recompute = false;           // Backward computes activations anew instead of keeping them.
  std::string transport{};          // name_of() a TransportKind; empty: shared memory within a host.
  std::string reduce_order{};       // rank or any; empty: rank within a host.
  std::string algorithm{};          // name_of() an all-reduce's Algorithm; empty: the fastest.
  std::string emulate_net{};  // A topology whose links delay every message; empty: those that there are.
  bool plaintext = false;     // Between hosts: authenticated, not encrypted.
  int restarts = 0;           // How often workers that were started together start anew after one dies.
  bool sync_batch_norm = false;
  bool balance = false;  // Shares of the batch follow the speed of each worker.
  int zero = 0;          // What is sharded along dp: 1 optimizer state, 2 gradients too, 3 parameters too.
  std::string place{};   // Declaration::parse()d, separated by commas.
  bool factors = false;  // Send the factors of weight gradients where that is less.
  std::string compress = "none";  // Gradients along dp, as Compression::parse() reads it.
  std::int64_t bucket = 0;        // Bytes of gradients that travel together; 0: chosen by the transport.

  std::string slow{};  // RANK=FACTOR, separated by commas: whose computation takes how many times as long.
  double jitter = 0;   // Coefficient of variation of a random factor on the computation of a step.
  double emulate_compute = 0;  // Seconds that the computation of a step takes at least.

  double target_accuracy = 0;   // Stop there; 0: none.
  std::int64_t eval_every = 0;  // Steps; 0: after each epoch.
  std::int64_t log_every = 0;   // Steps; 0: about a hundred rows a run, at least one every 50 steps.
  bool gradient_norms = false;  // Record the norm of each parameter's gradient.

  std::int64_t checkpoint_every = 0;  // Steps; 0: at the end alone.
  int keep_checkpoints = 2;
  bool resume = false;
  std::string out{};  // The run folder.
};

}  // namespace hocket
