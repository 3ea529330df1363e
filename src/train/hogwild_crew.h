#pragma once

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "net/clock.h"
#include "train/hogwild_thread.h"
#include "train/straggler.h"

namespace hocket {

struct HogwildProgress {
  std::int64_t samples = 0;
  double loss = 0;  // Summed over them.
};

// The threads of a Hogwild run: they work from start() to finish(), and nobody else touches the parameters
// meanwhile. Used by the thread that leads them.
class HogwildCrew {
 public:
  explicit HogwildCrew(HogwildShared shared);  // Its tallies and lock are set here.
  ~HogwildCrew();

  const HogwildShared& shared() const { return shared_; }

  void start(std::int64_t first_step, std::int64_t end_step);
  bool wait(Seconds most);  // True once all threads have ended.
  void stop();              // Lets them end with the batch that is begun.
  // Once they have ended: the steps that are done. Rethrows what one of them threw.
  std::int64_t finish();

  HogwildProgress progress() const;  // At any time.
  ConflictCounts conflicts() const;  // Once they have ended, as are:
  void put(TrainResult& result) const;
  void leave_spans(const std::filesystem::path& run_folder) const;

 private:
  struct Member {
    std::unique_ptr<HogwildWorker> worker;  // Made by its thread.
    std::unique_ptr<SpanRecorder> spans;
    Straggler straggler;
  };

  void run_threads();
  void join();
  void work(std::size_t index);
  void work_on(std::size_t index);
  void slow_down(Member& member, HogwildTally& tally, const Claim& claim, std::int64_t computed);

  std::vector<HogwildTally> tallies_;
  std::mutex update_lock_;
  HogwildShared shared_;
  UpdateQueue queue_;
  std::vector<Member> members_;
  std::int64_t end_step_ = 0;
  bool is_stopped_ = false;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;     // Guarded by mutex_, as is:
  std::exception_ptr failure_;  // What the first thread to fail threw.
  std::vector<std::jthread> threads_;
};

}  // namespace hocket
