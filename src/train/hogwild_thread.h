#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "train/session.h"
#include "train/span_recorder.h"
#include "train/summary.h"
#include "train/trainer.h"
#include "train/update_queue.h"

namespace hocket {

// What a thread of a Hogwild run has done: the first members while it runs, the others once it has ended.
struct alignas(64) HogwildTally {
  std::atomic<std::int64_t> updates{0};
  std::atomic<std::int64_t> samples{0};
  std::atomic<double> loss{0};  // Summed over the samples.

  std::int64_t compute_ns = 0;
  std::int64_t wait_ns = 0;  // For the lock, where there is one.
  double cpu_seconds = 0;
  ConflictCounts conflicts;
  std::vector<std::int64_t> staleness = std::vector<std::int64_t>(64, 0);
  std::int64_t staleness_sum = 0;
};

// What the threads of a run have in common. Used by all of them.
struct HogwildShared {
  const TrainOptions& options;  // With defaults.
  const Dataset& data;
  Session& session;  // Whose parameters, buffers and optimizer state all threads read and write.
  std::function<double(std::int64_t step)> rate;
  std::int64_t rows = 1;   // Samples of an update,
  std::int64_t grain = 1;  // and of a claim, at most.
  bool is_sparse = false;  // Whether updates touch few coordinates.
  bool is_locked = false;
  std::mutex* lock = nullptr;  // Held during an update, where one thread at a time shall do one.
  std::span<HogwildTally> tallies{};
};

// Carries out the updates of one thread. Used by that thread.
class HogwildWorker {
 public:
  virtual ~HogwildWorker() = default;
  // Updates the shared parameters by the samples of a claim, `rows` at a time. Throws Error when the loss is
  // not finite.
  virtual void work(const Claim& claim) = 0;
};

// One update from its first read to its last write: takes the lock where there is one, counts the updates
// that other threads have made meanwhile if it `observes`.
class HogwildUpdate {
 public:
  HogwildUpdate(const HogwildShared& shared, HogwildTally& own, bool observes);
  // Both ends of the update; nothing of it may come after.
  void finish(std::int64_t samples, double loss);

 private:
  std::int64_t updates_of_others() const;

  const HogwildShared& shared_;
  HogwildTally& own_;
  bool observes_;
  std::unique_lock<std::mutex> lock_{};
  std::int64_t before_ = 0;
};

// The samples of a claim in the order of the epoch, gathered to the first rows of `batch`.
void gather_claim(const HogwildShared& shared, const Claim& claim, Batch& batch,
                  std::vector<std::int64_t>& indices);

// Whether an update touches few coordinates: a linear model with one output on sparse rows by plain descent.
bool is_sparse_descent(const TrainOptions& options, const DataInfo& info);
std::unique_ptr<HogwildWorker> make_sparse_worker(const HogwildShared& shared, HogwildTally& own,
                                                  SpanRecorder& spans);
// Any model by any rule: each update reads all parameters and writes all of them.
std::unique_ptr<HogwildWorker> make_dense_worker(const HogwildShared& shared, HogwildTally& own,
                                                 SpanRecorder& spans);

}  // namespace hocket
