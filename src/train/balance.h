#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/options.h"
#include "train/team.h"

namespace hocket {

// Decides how many chunks of every batch each rank computes, so that all of them take as long: at first the
// same, then in proportion to the speed that each has measured. Chunks are samples that go through the model
// together. Every rank has one and follows the same steps. Used by one thread.
class Balance {
 public:
  Balance(int ranks, std::int64_t chunks);  // Of a batch; at least one a rank.

  void add(std::int64_t samples, double seconds);  // What this rank has computed in a step.
  // After step `step`, counted from 1: whether all ranks shall gather() what they have measured.
  bool is_due(std::int64_t step) const;
  double speed() const;  // Of this rank since the last decision, in samples a second; 0: not measured.
  // Takes the speeds of all ranks, by rank, and returns whether the shares changed.
  bool decide(std::span<const double> speeds);

  const std::vector<std::int64_t>& shares() const { return shares_; }  // In chunks, by rank.

 private:
  std::int64_t chunks_;
  std::vector<std::int64_t> shares_;
  std::int64_t samples_ = 0;
  double seconds_ = 0;
};

// Options whose batches come in chunks, where shares may differ. Throws ConfigError for what does not go with
// balanced shares.
TrainOptions with_chunks(TrainOptions options, const Team& team);

// The shares of `chunks`, at least one each, whose slowest rank is done first.
std::vector<std::int64_t> shares_by_speed(std::span<const double> speeds, std::int64_t chunks);

}  // namespace hocket
