#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace hocket {

// Consecutive samples of one batch that a thread takes at once.
struct Claim {
  std::int64_t step = 0;  // Of the batch, from 0.
  std::int64_t epoch = 0;
  std::int64_t first = 0;  // Position of the first sample in the epoch.
  std::int64_t count = 0;
  std::int64_t offset = 0;       // Samples of the batch before it.
  std::int64_t batch_count = 0;  // Samples of the batch.
};

// Hands the samples of batches out to threads, in order, each once. try_claim() is thread-safe and takes no
// lock; open() and close() are for the one thread that leads the others.
class UpdateQueue {
 public:
  UpdateQueue(std::int64_t samples, std::int64_t batch, std::int64_t grain);  // At most `grain` a claim.

  // What follows are the batches of steps [first, end).
  void open(std::int64_t first, std::int64_t end);
  std::optional<Claim> try_claim();  // Nothing: all is handed out.
  void close();                      // Hands out no more.
  void abandon();                    // The same from any thread, for good: there will be no rest.
  // Once no thread claims any more: hands out the rest of a batch that was begun as the queue closed, and
  // returns the step that follows.
  std::int64_t open_rest();

 private:
  static constexpr std::int64_t kClosed = std::int64_t{1} << 60;

  Claim claim_at(std::int64_t number) const;

  std::int64_t samples_;
  std::int64_t batch_;
  std::int64_t grain_;
  std::int64_t per_batch_;             // Claims.
  std::atomic<std::int64_t> next_{0};  // Counts claims from that of step 0 on.
  std::atomic<std::int64_t> end_{0};
  std::int64_t closed_at_ = 0;  // The first claim that was not handed out.
};

}  // namespace hocket
