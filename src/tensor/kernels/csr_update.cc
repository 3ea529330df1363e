// The gradient lives in a vector as long as w that is zero between steps. One pass over the entries adds to
// it and fetches what the next pass needs; that one takes each sum, once, sets it back to zero, and collects
// sums, weights and state to a block for the optimizer's kernel. So memory is touched where entries are, and
// the results are, bit for bit, those of csr_matmul_dw and the update of all of w.
#include "tensor/kernels/csr_update.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tensor/arena.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/update.h"

namespace hocket::kernel {
namespace {

constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kAhead = 32;  // Entries from the one that is fetched to the one that is used.

struct Entries {
  const float* values;
  const std::int32_t *columns, *offsets;
  std::int64_t n, count, features, first;

  // Row of w of entry z, if it is there.
  bool find_row(std::int64_t z, std::int64_t& row) const {
    row = columns[z] - first;
    return row >= 0 && row < features;
  }
};

class CsrUpdate final : public Kernel {
 public:
  explicit CsrUpdate(const CsrUpdateSpec& spec)
      : spec_(spec.csr),
        slots_(static_cast<std::size_t>(spec.update.slots())),
        gradient_(static_cast<std::size_t>(spec.csr.features * spec.csr.k) * sizeof(float)) {
    UpdateSpec update = spec.update;
    update.count = kBlock;
    update_ = make_update(update);
    for (std::size_t& part : parts_) part = plan_.add(kBlock * sizeof(float));
    places_ = plan_.add(kBlock * sizeof(std::int64_t));
  }

  void run(Buffers in, Buffers, std::byte* scratch) const override {
    const auto* offsets = operand<const std::int32_t>(in, 4);
    const Entries x{operand<const float>(in, 2),
                    operand<const std::int32_t>(in, 3),
                    offsets,
                    spec_.n,
                    offsets[spec_.n],
                    spec_.features,
                    spec_.first};
    float* w = operand(in, 0);
    float* state = slots_ > 0 ? operand(in, 6) : nullptr;
    sum(x, operand<const float>(in, 1), w, state);
    update(x, w, state, in[5], scratch);
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

 private:
  float* gradient() const { return reinterpret_cast<float*>(gradient_.data()); }

  void fetch(const Entries& x, std::int64_t z, const float* w, const float* state) const {
    std::int64_t row = 0;
    if (z >= x.count || !x.find_row(z, row)) return;
    __builtin_prefetch(gradient() + row * spec_.k, 1);
    __builtin_prefetch(w + row * spec_.k, 1);
    if (state != nullptr) __builtin_prefetch(state + row * spec_.k, 1);
  }

  void sum(const Entries& x, const float* dy, const float* w, const float* state) const {
    for (std::int64_t z = 0; z < std::min(kAhead, x.count); ++z) fetch(x, z, w, state);
    for (std::int64_t i = 0; i < x.n; ++i) {
      for (std::int64_t z = x.offsets[i]; z < x.offsets[i + 1]; ++z) {
        fetch(x, z + kAhead, w, state);
        std::int64_t row = 0;
        if (!x.find_row(z, row)) continue;
        float* g = gradient() + row * spec_.k;
        for (std::int64_t j = 0; j < spec_.k; ++j) g[j] += x.values[z] * dy[i * spec_.k + j];
      }
    }
  }

  void update(const Entries& x, float* w, float* state, std::byte* hyper, std::byte* scratch) const {
    const auto part = [&](std::size_t i) { return reinterpret_cast<float*>(scratch + parts_[i]); };
    float *sums = part(0), *weights = part(1), *states = part(2);
    auto* places = reinterpret_cast<std::int64_t*>(scratch + places_);
    std::int64_t filled = 0;
    const auto flush = [&] {
      run_block(sums, weights, states, hyper);
      for (std::int64_t i = 0; i < filled; ++i) w[places[i]] = weights[i];
      for (std::int64_t i = 0; i < filled && state != nullptr; ++i) state[places[i]] = states[i];
      filled = 0;
    };
    for (std::size_t i = 0; i < parts_.size(); ++i) std::fill_n(part(i), kBlock, 0.0F);
    for (std::int64_t z = 0; z < x.count; ++z) {
      std::int64_t row = 0;
      if (!x.find_row(z, row)) continue;
      for (std::int64_t at = row * spec_.k; at < (row + 1) * spec_.k; ++at) {
        if (gradient()[at] == 0) continue;
        places[filled] = at;
        sums[filled] = std::exchange(gradient()[at], 0.0F);
        weights[filled] = w[at];
        if (state != nullptr) states[filled] = state[at];
        if (++filled == kBlock) flush();
      }
    }
    if (filled > 0) flush();
  }

  void run_block(float* sums, float* weights, float* states, std::byte* hyper) const {
    const auto bytes = [](float* p) { return reinterpret_cast<std::byte*>(p); };
    const std::array<std::byte*, 4> operands{bytes(weights), bytes(sums), hyper, bytes(states)};
    update_->run(std::span(operands).first(3 + slots_), {}, nullptr);
  }

  CsrSpec spec_;
  std::size_t slots_;
  Arena gradient_;  // Zero between calls.
  std::unique_ptr<Kernel> update_;
  ScratchPlan plan_;
  std::array<std::size_t, 3> parts_{};  // Sums, weights and state of a block,
  std::size_t places_ = 0;              // and where in w they belong.
};

}  // namespace

std::unique_ptr<Kernel> make_csr_update(const CsrUpdateSpec& spec) {
  const bool is_supported =
      spec.csr.dtype == DType::f32 && spec.update.slots() <= 1 && spec.update.decay == 0;
  return is_supported ? std::make_unique<CsrUpdate>(spec) : nullptr;
}

}  // namespace hocket::kernel
