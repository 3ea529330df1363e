#include <algorithm>
#include <cmath>

#include "tensor/kernels/normalisation.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/layer_norm.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

void layer_norm_row(const float* x, const float* gamma, const float* beta, std::size_t width, float eps,
                    float* y, float* mean, float* rstd) {
  const float share = 1.0F / static_cast<float>(width);
  const float m = share * sum_of_row(x, width);
  const Vec centre = splat(m);
  const float squares = sum_over(width, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec d = lane.keep(hn::Sub(lane.load(x + i), centre), zero());
    return hn::Mul(d, d);
  });
  const float r = 1.0F / std::sqrt(share * squares + eps);
  for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec scale = hn::Mul(splat(r), lane.load(gamma + i));
    lane.store(hn::MulAdd(hn::Sub(lane.load(x + i), centre), scale, lane.load(beta + i)), y + i);
  });
  *mean = m;
  *rstd = r;
}

// dx = r·(g − mean(g) − x̂·mean(g·x̂)) with g = dy·γ and x̂ = (x − mean)·r; adds dy·x̂ to dgamma and dy to dbeta.
void layer_norm_grad_row(const float* dy, const float* x, float mean, float r, const float* gamma,
                         std::size_t width, float* dx, float* dgamma, float* dbeta) {
  const float share = 1.0F / static_cast<float>(width);
  const Vec centre = splat(mean);
  const Vec scale = splat(r);
  Vec sums = zero(), products = zero();
  for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec g = hn::Mul(lane.load(dy + i), lane.load(gamma + i));
    sums = hn::Add(sums, g);
    products = hn::MulAdd(g, hn::Sub(lane.load(x + i), centre), products);
  });
  const Vec mean_g = splat(share * sum_lanes(sums));
  const Vec mean_gx = splat(share * r * sum_lanes(products));
  for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec gradient = lane.load(dy + i);
    const Vec normalised = hn::Mul(hn::Sub(lane.load(x + i), centre), scale);
    const Vec g = hn::Sub(hn::Mul(gradient, lane.load(gamma + i)), mean_g);
    lane.store(hn::Mul(scale, hn::NegMulAdd(normalised, mean_gx, g)), dx + i);
    lane.store(hn::MulAdd(gradient, normalised, lane.load(dgamma + i)), dgamma + i);
    lane.store(hn::Add(gradient, lane.load(dbeta + i)), dbeta + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(layer_norm_row);
HWY_EXPORT(layer_norm_grad_row);

// Of the rows, whose sums for dγ and dβ are kept apart and added in order.
constexpr std::int64_t kMostParts = 64;

class LayerNormGrad final : public Kernel {
 public:
  explicit LayerNormGrad(const RowsSpec& spec) : spec_(spec), parts_(std::min(spec.rows, kMostParts)) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    auto* sums = reinterpret_cast<float*>(scratch);
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part)
        run_rows(in, out, part, sums + part * 2 * spec_.width);
    });
    for (std::int64_t j = 0; j < spec_.width; ++j) {
      operand(out, 1)[j] = sum_parts(sums + j);
      operand(out, 2)[j] = sum_parts(sums + spec_.width + j);
    }
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(parts_ * 2 * spec_.width) * sizeof(float);
  }

 private:
  void run_rows(Buffers in, Buffers out, std::int64_t part, float* sums) const {
    std::fill_n(sums, 2 * spec_.width, 0.0F);
    for (std::int64_t row = part * spec_.rows / parts_; row < (part + 1) * spec_.rows / parts_; ++row) {
      const std::int64_t at = row * spec_.width;
      HWY_DYNAMIC_DISPATCH(layer_norm_grad_row)
      (operand(in, 0) + at, operand(in, 1) + at, operand(in, 2)[row], operand(in, 3)[row], operand(in, 4),
       static_cast<std::size_t>(spec_.width), operand(out, 0) + at, sums, sums + spec_.width);
    }
  }

  float sum_parts(const float* first) const {
    double sum = 0;
    for (std::int64_t part = 0; part < parts_; ++part)
      sum += static_cast<double>(first[part * 2 * spec_.width]);
    return static_cast<float>(sum);
  }

  RowsSpec spec_;
  std::int64_t parts_;
};

bool is_supported(const RowsSpec& spec) {
  return spec.dtype == DType::f32 && spec.rows > 0 && spec.width > 0;
}

}  // namespace

std::unique_ptr<Kernel> make_layer_norm(const RowsSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const std::int64_t grain = std::max<std::int64_t>(kElementGrain / spec.width, 1);
    parallel_for(spec.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        HWY_DYNAMIC_DISPATCH(layer_norm_row)
        (operand(in, 0) + row * spec.width, operand(in, 1), operand(in, 2),
         static_cast<std::size_t>(spec.width), static_cast<float>(spec.eps),
         operand(out, 0) + row * spec.width, operand(out, 1) + row, operand(out, 2) + row);
      }
    });
  });
}

std::unique_ptr<Kernel> make_layer_norm_grad(const RowsSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return std::make_unique<LayerNormGrad>(spec);
}

}  // namespace hocket::kernel
#endif
