// F. Niu, B. Recht, C. Ré, S. Wright, "Hogwild!: a lock-free approach to parallelizing stochastic gradient
// descent", NIPS 2011. All scores come before the first write, so that the update of one thread alone is that
// of the rows' summed gradient.
#include "tensor/kernels/csr_descent.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace hocket::kernel {
namespace {

constexpr std::int64_t kAhead = 48;  // Entries from the one that is fetched to the one that is used.

float load(float& value) { return std::atomic_ref(value).load(std::memory_order_relaxed); }
void store(float& value, float to) { std::atomic_ref(value).store(to, std::memory_order_relaxed); }

struct LossAt {
  float value;
  float slope;
};

LossAt loss_at(LinearLoss loss, float x, float label) {
  const float sign = 2 * label - 1;
  switch (loss) {
    case LinearLoss::logistic: {
      const float small = std::exp(-std::fabs(x));
      return {std::max(x, 0.0F) - x * label + std::log1p(small), (x < 0 ? small : 1) / (1 + small) - label};
    }
    case LinearLoss::hinge: return {std::max(0.0F, 1 - sign * x), 1 - sign * x > 0 ? -sign : 0.0F};
    case LinearLoss::squared: break;
  }
  return {0.5F * (x - label) * (x - label), x - label};
}

}  // namespace

CsrDescent::CsrDescent(LinearLoss loss, std::span<float> weights, float* bias)
    : loss_(loss), weights_(weights), bias_(bias) {}

double CsrDescent::slopes_of(const LabelledRows& rows, float* seen) {
  double total = 0;
  const std::int64_t last = rows.entries - 1;
  slopes_.resize(static_cast<std::size_t>(rows.count));
  for (std::int64_t i = 0; i < rows.count; ++i) {
    float score = bias_here_;
    for (std::int64_t z = rows.offsets[i]; z < rows.offsets[i + 1]; ++z) {
      __builtin_prefetch(&weights_[static_cast<std::size_t>(rows.columns[std::min(z + kAhead, last)])]);
      const float weight = load(weights_[static_cast<std::size_t>(rows.columns[z])]);
      if (seen != nullptr) *seen++ = weight;
      score += weight * rows.values[z];
    }
    const LossAt at = loss_at(loss_, score, rows.labels[i]);
    slopes_[static_cast<std::size_t>(i)] = at.slope;
    total += at.value;
  }
  return total;
}

std::int64_t CsrDescent::changed(const LabelledRows& rows) const {
  std::int64_t count = 0;
  const std::int64_t first = rows.offsets[0];
  for (std::int64_t z = first; z < rows.offsets[rows.count]; ++z) {
    const float now = load(weights_[static_cast<std::size_t>(rows.columns[z])]);
    count += now != seen_[static_cast<std::size_t>(z - first)] ? 1 : 0;
  }
  return count;
}

void CsrDescent::descend(const LabelledRows& rows, float rate) {
  float sum = 0;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    const float step = rate * slopes_[static_cast<std::size_t>(i)];
    if (step == 0) continue;
    sum += step;
    for (std::int64_t z = rows.offsets[i]; z < rows.offsets[i + 1]; ++z) {
      float& weight = weights_[static_cast<std::size_t>(rows.columns[z])];
      store(weight, load(weight) - step * rows.values[z]);
    }
  }
  if (bias_ == nullptr) return;
  bias_here_ -= sum;
  bias_change_ -= sum;
}

void CsrDescent::begin() {
  if (bias_ != nullptr) bias_here_ = load(*bias_);
  bias_change_ = 0;
}

void CsrDescent::end() {
  if (bias_change_ != 0) store(*bias_, load(*bias_) + bias_change_);
}

double CsrDescent::update(const LabelledRows& rows, float rate) {
  const double loss = slopes_of(rows, nullptr);
  descend(rows, rate);
  return loss;
}

DescentOutcome CsrDescent::observed_update(const LabelledRows& rows, float rate) {
  const std::int64_t entries = rows.offsets[rows.count] - rows.offsets[0];
  seen_.resize(static_cast<std::size_t>(entries));
  DescentOutcome outcome;
  outcome.loss = slopes_of(rows, seen_.data());
  outcome.conflicts = changed(rows);
  outcome.writes = entries;
  descend(rows, rate);
  return outcome;
}

}  // namespace hocket::kernel
