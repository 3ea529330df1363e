#pragma once

#include <cstdint>

#include "train/options.h"

namespace hocket {

// Makes a rank slower than it is: how long the computation of its steps would take on the machine that is
// emulated, with the options `slow`, `jitter` and `emulate_compute`. A function of (seed, rank, step) and the
// time measured; the caller sleeps. Immutable.
class Straggler {
 public:
  // Throws ConfigError where `slow` is not such a list or names a rank that is not among `ranks`.
  Straggler(const TrainOptions& options, int rank, int ranks);

  bool is_active() const { return factor_ > 1 || jitter_ > 0 || least_ > 0; }
  // What the computation of `step` still has to take, once it has taken `computed` seconds. `share` is how
  // much of a step it is, where an equal part of the batch is 1.
  double seconds_left(std::int64_t step, double computed, double share = 1) const;

 private:
  double factor_ = 1;
  double jitter_;
  double least_;
  std::uint64_t seed_;
  std::uint64_t rank_;
};

// Whether any rank sleeps where a real one would compute.
bool is_emulated(const TrainOptions& options);

}  // namespace hocket
