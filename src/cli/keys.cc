#include "cli/keys.h"

#include <algorithm>
#include <cctype>

#include "collective/collective.h"

namespace hocket {
namespace {

// Ends the help's line of a field in the table below.
#define FIELD(member) [](TrainOptions& options) { return KeyField(&options.member); }

const std::string kInput = "model and data";
const std::string kLength = "how long";
const std::string kStep = "each step";
const std::string kWorkers = "the workers";
const std::string kEmulation = "emulation";
const std::string kMeasure = "measuring";
const std::string kRun = "the run";

const Bounds kAnyCount{0};
const Bounds kCount{1};
const Bounds kShare{0, 1};
const Bounds kPositive{0, std::numeric_limits<double>::infinity(), true};

std::vector<Key> input_keys() {
  return {
      {"train.model", "MODEL", kInput, "the model: NAME, NAME,size=N or file:F; hocket models lists them",
       FIELD(model)},
      {"train.data", "DATA", kInput, "what to train on; hocket data lists the kinds", FIELD(data)},
      {"train.test_data",
       "DATA",
       kInput,
       "what to test on",
       FIELD(test_data),
       {},
       {},
       "the data's own test part"},
      {"train.validation", "SHARE", kInput, "hold out this share of the training data and test on it",
       FIELD(validation), Bounds{0, 0.9}},
      {"train.folds", "K", kInput, "cross-validate: train K times, each time testing on another K-th",
       FIELD(folds), Bounds{0, 1000}},
      {"train.fold",
       "I",
       kInput,
       "with --folds: the I-th alone",
       FIELD(fold),
       Bounds{1, 1000},
       {},
       "all of them, one after the other"},
      {"train.augment",
       "LIST",
       kInput,
       "vary images: flip,shift=PIXELS,rotate=DEGREES,noise=SD,fade=SHARE",
       FIELD(augment),
       {},
       {},
       "none"},
  };
}

std::vector<Key> length_keys() {
  return {
      {"train.epochs",
       "N",
       kLength,
       "passes over the training data",
       FIELD(epochs),
       kCount,
       {},
       "1, or as --steps needs"},
      {"train.steps",
       "N",
       kLength,
       "steps, within the epochs if both are given",
       FIELD(steps),
       kCount,
       {},
       "whole epochs"},
      {"train.target_accuracy", "SHARE", kLength,
       "stop once the test accuracy is this high; exit code 5 if it never is", FIELD(target_accuracy),
       kShare},
  };
}

std::vector<Key> step_keys() {
  return {
      {"train.batch", "N", kStep, "samples a step", FIELD(batch), kCount, {}, "128, or 16 for text"},
      {"train.microbatches", "N", kStep, "parts of a batch, computed one after the other to save memory",
       FIELD(micro_batches), Bounds{1, 4096}},
      {"train.optimizer",
       "RULE",
       kStep,
       "sgd, momentum, nesterov, adagrad, adam or adamw",
       FIELD(optimizer.rule),
       {},
       {"sgd", "momentum", "nesterov", "adagrad", "adam", "adamw"},
       "by model"},
      {"train.lr",
       "RATE",
       kStep,
       "learning rate",
       FIELD(learning_rate),
       kPositive,
       {},
       "the optimizer's own"},
      {"train.lr_schedule", "S", kStep, "constant, cosine, linear, or step,at=30x60,factor=0.1 in epochs",
       FIELD(lr_schedule)},
      {"train.lr_rule",
       "RULE",
       kStep,
       "linear: the rate grows with the batch, from the base batch on; or none",
       FIELD(lr_rule),
       {},
       {"linear", "none"}},
      {"train.lr_base_batch", "N", kStep, "the batch that --lr is meant for under --lr-rule linear",
       FIELD(lr_base_batch), kCount},
      {"train.warmup", "STEPS", kStep, "steps over which the learning rate rises at the start", FIELD(warmup),
       kAnyCount},
      {"train.momentum", "M", kStep, "of momentum and nesterov", FIELD(optimizer.momentum),
       Bounds{0, 0.9999}},
      {"train.weight_decay", "D", kStep, "L2 penalty on weights, not on biases and norms",
       FIELD(optimizer.weight_decay), Bounds{0, 1e6}},
      {"train.clip", "NORM", kStep, "largest norm of the whole gradient; 0 leaves it as it is",
       FIELD(optimizer.clip), Bounds{0}},
      {"train.dtype",
       "TYPE",
       kStep,
       "f32; bf16 for products alone; or f64, on slow reference kernels",
       FIELD(dtype),
       {},
       {"f32", "bf16", "f64"}},
  };
}

std::vector<std::string_view> all_reduce_algorithms() {
  std::vector<std::string_view> names;
  for (const Algorithm algorithm : all_algorithms()) {
    if (supports({Collective::all_reduce, algorithm, 2})) names.push_back(name_of(algorithm));
  }
  return names;
}

std::vector<Key> worker_keys() {
  return {
      {"train.workers",
       "N",
       kWorkers,
       "processes that train together, each on its share of every batch",
       FIELD(workers),
       Bounds{1, 65536},
       {},
       "1, or the ranks of the job that hocket launch, mpirun, srun or torchrun has started"},
      {"train.mesh",
       "AXES",
       kWorkers,
       "the workers as a grid: dp=N replicas, tp=N ranks that share each layer, pp=N stages of a pipeline",
       FIELD(mesh),
       {},
       {},
       "dp=workers"},
      {"train.schedule",
       "WAY",
       kWorkers,
       "of a pipeline: naive, gpipe, 1f1b, interleaved,chunks=N or pipedream,vertical=0",
       FIELD(schedule),
       {},
       {},
       "1f1b"},
      {"train.stages",
       "LIST",
       kWorkers,
       "the layers of a pipeline's stages, as in 'conv1,conv2|fc1,fc2'; or measured, as hocket plan does",
       FIELD(stages),
       {},
       {},
       "stages of about the same work"},
      {"train.recompute", "", kWorkers, "compute activations anew in backward instead of keeping them",
       FIELD(recompute)},
      {"train.sync", "WAY", kWorkers,
       "how the replicas agree: allreduce; with a replica each local,tau=N, adacomm,tau0=N, average, mllib, "
       "mapreduce, gossip,graph=G, gossip-async,graph=G; by servers ps:bsp, ps:ssp,s=N, ps:asp, ps:kofn,k=N, "
       "ps:softsync,n=N, downpour,nfetch=N,npush=N (ssp, asp, softsync, downpour also with ahead=1), "
       "sandblaster; as threads of one process hogwild",
       FIELD(sync)},
      {"train.allow_disconnected", "", kWorkers,
       "gossip on a graph that falls apart: its workers never agree", FIELD(allow_disconnected)},
      {"train.servers",
       "N",
       kWorkers,
       "processes that hold the parameters, where --sync has servers",
       FIELD(servers),
       Bounds{1, 1024},
       {},
       "1"},
      {"train.replicas", "N", kWorkers, "servers that hold each part of the parameters: N-1 of them may die",
       FIELD(replicas), Bounds{1, 16}},
      {"train.whole_tables", "", kWorkers,
       "servers: pull and push tables whole, not by the rows of the batch, to see what that costs",
       FIELD(whole_tables)},
      {"train.transport",
       "KIND",
       kWorkers,
       "shm, tcp or mpi",
       FIELD(transport),
       {},
       {"shm", "tcp", "mpi"},
       "shm on one host, else tcp"},
      {"train.reduce_order",
       "ORDER",
       kWorkers,
       "add up gradients in rank order, for the same bits however they travel, or in any",
       FIELD(reduce_order),
       {},
       {"rank", "any"},
       "rank on one host, else any"},
      {"train.algorithm",
       "NAME",
       kWorkers,
       "of all-reduce: see docs/ALGORITHMS.md",
       FIELD(algorithm),
       {},
       all_reduce_algorithms(),
       "the fastest that adds up in that order"},
      {"train.balance", "", kWorkers,
       "with --sync allreduce, workers take shares of each batch by the speed that is measured; the result "
       "stays "
       "the same",
       FIELD(balance)},
      {"train.sync_batch_norm", "", kWorkers, "batch norm over the whole batch, not each worker's share",
       FIELD(sync_batch_norm)},
      {"train.zero", "LEVEL", kWorkers,
       "shard along dp: 1 the optimizer state, 2 also gradients, 3 also parameters", FIELD(zero),
       Bounds{0, 3}},
      {"train.place",
       "LIST",
       kWorkers,
       "cut parameters, as in 'fc1.weight=tp:0,*.bias=tp:replicated'",
       FIELD(place),
       {},
       {},
       "as the model says"},
      {"train.factors", "", kWorkers,
       "send the factors of a weight's gradient where that is less than the gradient", FIELD(factors)},
      {"train.compress", "KIND", kWorkers,
       "send gradients in fewer bytes: bf16, int8, or topk=F, the share F of the largest", FIELD(compress)},
      {"train.bucket",
       "BYTES",
       kWorkers,
       "gradients that travel together",
       FIELD(bucket),
       Bounds{0, 1LL << 40},
       {},
       "over tcp a 32nd of all in the background, 128 KiB to 1 MiB; all at once in shared memory"},
      {"train.restarts", "N", kWorkers,
       "when one of the workers that this command started dies, start them anew from the newest checkpoint, "
       "up to N times",
       FIELD(restarts), Bounds{0, 1e6}},
      {"train.plaintext", "", kWorkers, "authenticate, but do not encrypt between hosts", FIELD(plaintext)},
  };
}

std::vector<Key> emulation_keys() {
  return {
      {"train.emulate_net",
       "TOPOLOGY",
       kEmulation,
       "delay every message between workers and servers of this host as these links would: see "
       "docs/TOPOLOGY.md",
       FIELD(emulate_net),
       {},
       {},
       "the links that there are"},
      {"train.slow",
       "RANK=FACTOR",
       kEmulation,
       "computing takes FACTOR times as long on that worker; several, separated by commas",
       FIELD(slow),
       {},
       {},
       "none"},
      {"train.jitter", "CV", kEmulation,
       "computing takes a random time: a factor of mean 1 and this coefficient of variation", FIELD(jitter),
       Bounds{0, 10}},
      {"train.emulate_compute", "SECONDS", kEmulation, "computing a step takes at least this long",
       FIELD(emulate_compute), Bounds{0, 3600}},
  };
}

std::vector<Key> measure_keys() {
  return {
      {"train.eval_every",
       "STEPS",
       kMeasure,
       "test every so many steps",
       FIELD(eval_every),
       kCount,
       {},
       "after each epoch"},
      {"train.log_every",
       "STEPS",
       kMeasure,
       "a row in metrics.jsonl every so many steps",
       FIELD(log_every),
       kCount,
       {},
       "about 100 rows a run"},
      {"train.gradient_norms", "", kMeasure, "record the norm of each layer's gradient",
       FIELD(gradient_norms)},
  };
}

std::vector<Key> run_keys() {
  return {
      {"train.seed", "N", kRun, "the same seed gives the same run, bit for bit", FIELD(seed), kAnyCount},
      {"train.threads",
       "N",
       kRun,
       "threads of the kernels",
       FIELD(threads),
       Bounds{1, 1024},
       {},
       "the cores there are; several workers divide them, and keep to them"},
      {"train.checkpoint_every",
       "STEPS",
       kRun,
       "a checkpoint every so many steps",
       FIELD(checkpoint_every),
       kCount,
       {},
       "at the end"},
      {"train.keep", "N", kRun, "how many checkpoints are kept, the newest ones", FIELD(keep_checkpoints),
       Bounds{2, 1e6}},
      {"train.out", "DIR", kRun, "the run folder", FIELD(out), {}, {}, "runs/<time>-<model>-<sync>"},
  };
}

#undef FIELD

std::vector<Key> make_keys() {
  std::vector<Key> keys;
  for (auto part :
       {input_keys, length_keys, step_keys, worker_keys, emulation_keys, measure_keys, run_keys}) {
    for (Key& key : part()) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

std::string Key::flag() const {
  std::string text = name.substr(name.rfind('.') + 1);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Key::variable() const {
  std::string text = "HOCKET_";
  for (const char c : name) {
    if (c == '.') {
      text += "__";
    } else {
      text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return text;
}

std::span<const Key> all_keys() {
  static const std::vector<Key> keys = make_keys();
  return keys;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : all_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

}  // namespace hocket
