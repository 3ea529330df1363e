#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"

namespace hocket {

// A place in the stream of samples, as a checkpoint keeps it.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t sample = 0;  // Samples of the epoch that all ranks together have taken.

  bool operator==(const DataPosition&) const = default;
};

struct LoaderOptions {
  std::int64_t batch = 1;  // Samples of one step over all ranks.
  std::uint64_t seed = 0;
  bool shuffle = true;  // Else in the order of the data set.
  DataPosition start{};
  bool drop_last = false;  // Leave out a last batch of the epoch that is not full.
  int rank = 0;            // This rank takes its contiguous share of each batch.
  int ranks = 1;
  std::int64_t rows = 0;  // Of a batch, where there shall be more than the largest share has.
  int kept = 1;           // Batches that the caller has at once,
  int ahead = 2;          // and those that are gathered ahead of it.
};

// Gives batches without end, epoch after epoch, gathered ahead of the caller by one thread into a ring of
// preallocated batches: after construction nothing is allocated. Used by one thread. The data set must
// outlive it. Which samples a batch holds depends on (seed, epoch, position, batch) alone, not on the number
// of ranks.
class Loader {
 public:
  Loader(const Dataset& dataset, const LoaderOptions& options);  // Throws ConfigError or DataError.

  // The next batch, valid until `kept` further calls. Blocks until it is ready; rethrows what gather() threw.
  const Batch& next();

  // From a batch on that no rank has gathered yet, ranks take shares of each in proportion to `weights`, by
  // rank. All ranks call it after as many next(); no share may be more than capacity().
  void set_shares(std::vector<std::int64_t> weights);

  // Where the batch that next() will return begins.
  DataPosition position() const { return position_; }

  std::int64_t batches_per_epoch() const;
  // Rows of a batch of this rank: samples and padding.
  std::int64_t capacity() const;

 private:
  DataPosition fill(Batch& batch, DataPosition at);
  DataPosition wrapped(DataPosition at) const;
  void run(const std::stop_token& stop);

  const Dataset& dataset_;
  const LoaderOptions options_;
  DataPosition position_;  // Of the caller.
  std::vector<Batch> ring_;
  std::vector<std::int64_t> indices_;  // Scratch of the thread,
  std::vector<std::int64_t> weights_;  // and what it divides batches by; empty: evenly.
  std::int64_t taken_ = 0;             // Batches that next() has returned.

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t ready_ = 0;                  // Batches gathered since the start; guarded by mutex_.
  std::int64_t released_ = 0;               // Batches the caller is done with; guarded by mutex_.
  std::vector<std::int64_t> next_weights_;  // From batch next_from_ on; guarded by mutex_, as is:
  std::int64_t next_from_ = 0;
  std::exception_ptr failure_;  // What ended the thread; guarded by mutex_.
  std::jthread thread_;
};

}  // namespace hocket
