#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/health.h"
#include "net/inproc_connector.h"
#include "train/slice_gradient.h"

namespace hocket {

// A replica that is cut: the ranks that share its layers are threads of this process. Computes what
// SliceGradient computes, from the parameters and running statistics of a session that has the whole model,
// and leaves gradients and statistics there. Used by one thread. What a rank throws, compute() throws, and is
// not to be called again.
class SplitReplica {
 public:
  // `own`: the options of this worker alone, of which `whole` was made. All must outlive it.
  SplitReplica(const TrainOptions& options, const TrainOptions& own, const Dataset& data, Session& whole,
               int ranks);
  ~SplitReplica();

  // As SliceGradient's, of a batch with a slice for each worker.
  SliceGradient::Outcome compute(int slice, std::int64_t clock, bool adds);

 private:
  struct Task {
    int slice = 0;
    std::int64_t clock = 0;
  };

  void work(Rank rank);
  std::unique_ptr<Transport> transport_of(Rank rank);
  std::optional<Task> next(std::int64_t done);
  void report(Rank rank, const SliceGradient::Outcome& outcome);
  void fail(Rank rank, const char* what);
  void take_values(Session& session);
  void give_results(Session& session, Rank rank);

  const TrainOptions& options_;
  const TrainOptions& own_;
  const Dataset& data_;
  Session& whole_;
  int ranks_;
  InprocHub hub_;
  Health health_;
  std::vector<std::unique_ptr<InprocConnector>> connectors_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Task task_;  // Guarded by mutex_, as are all that follow.
  std::int64_t tasks_ = 0;
  int reports_ = 0;  // Of the newest task.
  bool is_over_ = false;
  SliceGradient::Outcome outcome_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace hocket
