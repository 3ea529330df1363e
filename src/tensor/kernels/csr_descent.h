#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::kernel {

enum class LinearLoss : std::uint8_t { logistic, hinge, squared };

// Sparse rows with a label each; row i is [offsets[i], offsets[i + 1]) of columns and values.
struct LabelledRows {
  const float* values = nullptr;
  const std::int32_t* columns = nullptr;
  const std::int32_t* offsets = nullptr;
  const float* labels = nullptr;
  std::int64_t count = 0;
  std::int64_t entries =
      0;  // Of `columns`, which may go on with rows that come later: those are fetched ahead.
};

struct DescentOutcome {
  double loss = 0;  // Summed over the rows, before the update.
  std::int64_t writes = 0;
  std::int64_t conflicts = 0;  // Of these, weights that others changed since they were read.
};

// Descent of a linear model by the mean loss of a few sparse rows, w -= rate · Σ loss'(x w + b) x, in place
// and without locks on weights that other threads read and write meanwhile. Touches the weights of the rows'
// columns alone, which must be less than there are weights. Every access is a relaxed atomic: of writes to
// one weight at once one survives. The bias, which every row has, is read by begin() and written by end(), so
// that threads do not pass its cache line to and fro with every update. One object a thread.
class CsrDescent {
 public:
  CsrDescent(LinearLoss loss, std::span<float> weights, float* bias);  // No bias: null.

  void begin();
  double update(const LabelledRows& rows, float rate);
  DescentOutcome observed_update(const LabelledRows& rows, float rate);  // Slower, as it counts.
  void end();

 private:
  double slopes_of(const LabelledRows& rows, float* seen);
  std::int64_t changed(const LabelledRows& rows) const;
  void descend(const LabelledRows& rows, float rate);

  LinearLoss loss_;
  std::span<float> weights_;
  float* bias_;
  float bias_here_ = 0;        // As it was at begin(), with what has been
  float bias_change_ = 0;      // added since.
  std::vector<float> slopes_;  // By row.
  std::vector<float> seen_;    // By entry of observed rows.
};

}  // namespace hocket::kernel
