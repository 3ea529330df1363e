#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ps/store.h"
#include "tensor/dtype.h"

namespace hocket {

// The gradients of one update, to be summed part by part. Where all weights are equal, sums are without them
// and common_weight() is what they still lack; with weight 1 they are, bit for bit, ((g0 + g1) + g2) … as an
// all-reduce in rank order adds. The pushes must outlive it. Used by one thread; f32 or f64.
class WeightedSum {
 public:
  explicit WeightedSum(DType dtype) : dtype_(dtype) {}

  void set_terms(std::span<const WeightedPush> terms);
  double common_weight() const { return is_even_ ? weights_.front() : 1; }

  // The sum of elements [begin, begin + count): in `room`, or where a single gradient has them.
  const std::byte* sum(std::size_t begin, std::size_t count, std::byte* room);

 private:
  DType dtype_;
  bool is_even_ = true;
  std::vector<const std::byte*> sources_;
  std::vector<double> weights_;
  std::vector<const std::byte*> at_;               // Scratch of sum().
  std::vector<std::vector<std::byte>> realigned_;  // What lay between elements' boundaries.
};

// y[i] += factor·x[i]
void add_scaled(DType dtype, double factor, const std::byte* x, std::byte* y, std::size_t count);

}  // namespace hocket
