#include <algorithm>
#include <cmath>

#include "tensor/kernels/batch_norm_rows.h"
#include "tensor/kernels/normalisation.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/threads.h"

// Batch norm of rows of channels, each row with the weight of its sample.
//
// Sums run over short blocks in f32 and over blocks in f64. The statistics are summed around a pivot (the
// first row), so that a mean far from zero costs no precision: Σw·x² = Σw·d² + 2p·Σw·d + p²·Σw with d = x −
// p.
namespace hocket::kernel {
namespace {

constexpr std::int64_t kMostParts = 64;      // Of the batch, summed apart: the limit of parallelism, fixed.
constexpr std::int64_t kBlockFloats = 4096;  // Of x in one Rows: half of an L1 cache with a second operand.

bool is_supported(const BatchNormSpec& s) {
  return s.dtype == DType::f32 && (s.layout == Layout::channels_last || s.spatial == 1) &&
         s.n * s.c * s.spatial > 0;
}

// The mean and 1/√(σ²+eps) of one channel; a batch without weight has mean and variance 0.
struct Moments {
  Moments(const BatchNormSpec& s, const double* stats, std::int64_t c) : weight(stats[2 * s.c + c]) {
    double variance = 0;
    if (weight > 0) {
      mean = stats[c] / weight;
      variance = std::max(stats[s.c + c] / weight - mean * mean, 0.0);
    }
    r = 1 / std::sqrt(variance + s.eps);
  }

  double weight;
  double mean = 0;
  double r = 1;
};

// Shared by all of them: rows in blocks, samples in parts, room for the constants of the channels.
class BatchNormKernel : public Kernel {
 public:
  explicit BatchNormKernel(const BatchNormSpec& s)
      : spec_(s),
        parts_(std::min(s.n, kMostParts)),
        block_rows_(std::max<std::int64_t>(kBlockFloats / s.c, 4)),
        channel_bytes_(align_up(static_cast<std::size_t>(s.c) * sizeof(float))),
        sums_at_(plan_.add(static_cast<std::size_t>(parts_ * 2 * s.c) * sizeof(double))),
        constants_at_(plan_.add(kConstants * channel_bytes_)) {}

  std::size_t scratch_bytes() const final { return plan_.size(); }

 protected:
  static constexpr std::size_t kConstants = 4;

  // Array `index` of c floats in the scratch memory, below kConstants.
  float* constants(std::byte* scratch, std::size_t index) const {
    return reinterpret_cast<float*>(scratch + constants_at_ + index * channel_bytes_);
  }
  Affine affine(std::byte* scratch) const {
    return {constants(scratch, 0), constants(scratch, 1), constants(scratch, 2)};
  }

  // What bn_apply does to x, from its statistics, gamma and, unless it is null, beta.
  Affine forward_affine(const double* stats, const float* gamma, const float* beta,
                        std::byte* scratch) const {
    const Affine k = affine(scratch);
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      const Moments moments(spec_, stats, c);
      k.mean[c] = static_cast<float>(moments.mean);
      k.scale[c] = static_cast<float>(gamma[c] * moments.r);
      k.shift[c] = beta == nullptr ? 0 : beta[c];
    }
    return k;
  }

  // Calls body(rows, sample) for all rows, each call with rows of one sample.
  template <typename Body>
  void for_blocks(const Body& body) const {
    parallel_for(spec_.n, sample_grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t sample = begin; sample < end; ++sample) for_sample(sample, body);
    });
  }

  // The same where the sample does not matter: longer blocks.
  template <typename Body>
  void for_all_rows(const Body& body) const {
    const std::int64_t rows = spec_.n * spec_.spatial;
    parallel_for(rows, kElementGrain / spec_.c + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; row += block_rows_) {
        body(Rows{row, std::min(row + block_rows_, end), spec_.c});
      }
    });
  }

  // Calls body(rows, sample, sums) for all rows, with sums for each part of the batch, then adds them up in
  // order into the first 2c doubles of the result.
  template <typename Body>
  double* sum_blocks(std::byte* scratch, const Body& body) const {
    auto* sums = reinterpret_cast<double*>(scratch + sums_at_);
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        double* own = sums + part * 2 * spec_.c;
        std::fill_n(own, 2 * spec_.c, 0.0);
        for (std::int64_t sample = part * spec_.n / parts_; sample < (part + 1) * spec_.n / parts_;
             ++sample) {
          for_sample(sample, [&](const Rows& rows, std::int64_t) { body(rows, sample, own); });
        }
      }
    });
    for (std::int64_t i = 2 * spec_.c; i < parts_ * 2 * spec_.c; ++i) sums[i % (2 * spec_.c)] += sums[i];
    return sums;
  }

  bool has_relu() const { return spec_.activation == Activation::relu; }

  BatchNormSpec spec_;

 private:
  std::int64_t sample_grain() const {
    return std::max<std::int64_t>(kElementGrain / (spec_.c * spec_.spatial), 1);
  }

  template <typename Body>
  void for_sample(std::int64_t sample, const Body& body) const {
    const std::int64_t last = (sample + 1) * spec_.spatial;
    for (std::int64_t row = sample * spec_.spatial; row < last; row += block_rows_) {
      body(Rows{row, std::min(row + block_rows_, last), spec_.c}, sample);
    }
  }

  std::int64_t parts_, block_rows_;
  std::size_t channel_bytes_;
  ScratchPlan plan_;
  std::size_t sums_at_, constants_at_;
};

class BnStats final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const float* x = operand(in, 0);
    const float* weight = operand(in, 1);
    const double* sums = sum_blocks(scratch, [&](const Rows& rows, std::int64_t sample, double* own) {
      sum_moments(rows, x, x, weight[sample], own);
    });
    double total = 0;
    for (std::int64_t n = 0; n < spec_.n; ++n) total += weight[n] * static_cast<double>(spec_.spatial);
    auto* stats = operand<double>(out, 0);
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      const double pivot = x[c];
      stats[c] = sums[c] + pivot * total;
      stats[spec_.c + c] = sums[spec_.c + c] + 2 * pivot * sums[c] + pivot * pivot * total;
    }
    std::fill_n(stats + 2 * spec_.c, spec_.c, total);
  }
};

class BnApply final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const Affine k = forward_affine(operand<const double>(in, 1), operand(in, 2), operand(in, 3), scratch);
    const float* residual = spec_.has_residual ? operand(in, 4) : nullptr;
    for_all_rows([&](const Rows& rows) {
      apply_affine(rows, operand(in, 0), k, residual, has_relu(), operand(out, 0));
    });
  }
};

class BnInference final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const Affine k = affine(scratch);
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      k.mean[c] = operand(in, 1)[c];
      k.scale[c] = static_cast<float>(operand(in, 3)[c] / std::sqrt(operand(in, 2)[c] + spec_.eps));
      k.shift[c] = operand(in, 4)[c];
    }
    const float* residual = spec_.has_residual ? operand(in, 5) : nullptr;
    for_all_rows([&](const Rows& rows) {
      apply_affine(rows, operand(in, 0), k, residual, has_relu(), operand(out, 0));
    });
  }
};

// The chain through μ = S₁/W and σ² = S₂/W − μ²; the weights are not trained, so the last row of dstats is
// 0.
class BnApplyGrad final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const auto* stats = operand<const double>(in, 2);
    const float* beta = has_relu() ? operand(in, 4) : nullptr;
    const Affine k = forward_affine(stats, operand(in, 3), beta, scratch);
    const double* sums = sum_blocks(scratch, [&](const Rows& rows, std::int64_t, double* own) {
      sum_gradients(rows, operand(in, 0), operand(in, 1), k, has_relu(), own);
    });
    auto* dstats = operand<double>(out, 2);
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      const Moments moments(spec_, stats, c);
      const double gamma = operand(in, 3)[c];
      const double sum = sums[c];
      const double centred = sums[spec_.c + c] + (static_cast<double>(k.mean[c]) - moments.mean) * sum;
      const double dgamma = centred * moments.r;
      operand(out, 0)[c] = static_cast<float>(dgamma);
      operand(out, 1)[c] = static_cast<float>(sum);
      const double dvariance = -0.5 * gamma * dgamma * moments.r * moments.r;
      const double dmean = -gamma * sum * moments.r - 2 * moments.mean * dvariance;
      dstats[c] = moments.weight > 0 ? dmean / moments.weight : 0;
      dstats[spec_.c + c] = moments.weight > 0 ? dvariance / moments.weight : 0;
    }
    std::fill_n(dstats + 2 * spec_.c, spec_.c, 0.0);
  }
};

class BnApplyDx final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    float* direct = constants(scratch, 0);
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      direct[c] = static_cast<float>(operand(in, 3)[c] * Moments(spec_, operand<const double>(in, 2), c).r);
    }
    for_all_rows([&](const Rows& rows) { apply_direct(rows, operand(in, 0), direct, operand(out, 0)); });
  }
};

class BnStatsDx final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const auto* dstats = operand<const double>(in, 0);
    const Affine k = affine(scratch);
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      k.mean[c] = 0;
      k.scale[c] = static_cast<float>(2 * dstats[spec_.c + c]);
      k.shift[c] = static_cast<float>(dstats[c]);
    }
    for_blocks([&](const Rows& rows, std::int64_t sample) {
      apply_stats_dx(rows, operand(in, 1), k, operand(in, 2)[sample], operand(out, 0));
    });
  }
};

// dS₁ + 2x·dS₂ is computed as (x − μ)·2dS₂ + (dS₁ + 2μ·dS₂), which does not cancel where the mean is large.
class BnDx final : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const auto* dstats = operand<const double>(in, 4);
    const Affine k = affine(scratch);
    float* direct = constants(scratch, 3);
    const float* beta = has_relu() ? operand(in, 6) : nullptr;
    for (std::int64_t c = 0; c < spec_.c; ++c) {
      const Moments moments(spec_, operand<const double>(in, 2), c);
      k.mean[c] = static_cast<float>(moments.mean);
      k.scale[c] = static_cast<float>(2 * dstats[spec_.c + c]);
      k.shift[c] = static_cast<float>(dstats[c] + 2 * static_cast<double>(k.mean[c]) * dstats[spec_.c + c]);
      direct[c] = static_cast<float>(operand(in, 3)[c] * moments.r);
    }
    for_blocks([&](const Rows& rows, std::int64_t sample) {
      apply_dx(rows, operand(in, 0), operand(in, 1), direct, beta, k, operand(in, 5)[sample],
               operand(out, 0));
    });
  }
};

template <typename Made>
std::unique_ptr<Kernel> make_if_supported(const BatchNormSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return std::make_unique<Made>(spec);
}

}  // namespace

std::unique_ptr<Kernel> make_bn_stats(const BatchNormSpec& spec) { return make_if_supported<BnStats>(spec); }
std::unique_ptr<Kernel> make_bn_apply(const BatchNormSpec& spec) { return make_if_supported<BnApply>(spec); }
std::unique_ptr<Kernel> make_bn_apply_grad(const BatchNormSpec& spec) {
  return make_if_supported<BnApplyGrad>(spec);
}
std::unique_ptr<Kernel> make_bn_apply_dx(const BatchNormSpec& spec) {
  return make_if_supported<BnApplyDx>(spec);
}
std::unique_ptr<Kernel> make_bn_stats_dx(const BatchNormSpec& spec) {
  return make_if_supported<BnStatsDx>(spec);
}
std::unique_ptr<Kernel> make_bn_dx(const BatchNormSpec& spec) { return make_if_supported<BnDx>(spec); }
std::unique_ptr<Kernel> make_bn_inference(const BatchNormSpec& spec) {
  return make_if_supported<BnInference>(spec);
}

// A few numbers a channel: nothing to gain.
std::unique_ptr<Kernel> make_bn_running(const BatchNormSpec&) { return nullptr; }

}  // namespace hocket::kernel
