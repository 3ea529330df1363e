// The gradient lives in a vector as long as w that is zero between steps. One pass over the entries adds to
// it and fetches what the next pass needs; that one takes each sum, once, sets it back to zero, and collects
// sums, weights and state to a block for the optimizer's kernel. So memory is touched where entries are, and
// the results are, bit for bit, those of csr_matmul_dw and the update of all of w.
#include "tensor/kernels/csr_update.h"

#include <algorithm>
#include <array>
#include <span>

#include "tensor/arena.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/update.h"

namespace hocket::kernel {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::int32_t kAhead = 32;  // Entries from the one that is fetched to the one that is used.

class CsrUpdate final : public Kernel {
 public:
  explicit CsrUpdate(const CsrUpdateSpec& spec)
      : spec_(spec.csr),
        slots_(static_cast<std::size_t>(spec.update.slots())),
        gradient_(static_cast<std::size_t>(spec.csr.features) * sizeof(float)) {
    UpdateSpec update = spec.update;
    update.count = kBlock;
    update_ = make_update(update);
    for (std::size_t& part : parts_) part = plan_.add(kBlock * sizeof(float));
    places_ = plan_.add(kBlock * sizeof(std::int32_t));
  }

  void run(Buffers in, Buffers, std::byte* scratch) const override {
    const auto* columns = operand<const std::int32_t>(in, 3);
    const auto* offsets = operand<const std::int32_t>(in, 4);
    float* w = operand(in, 0);
    float* state = slots_ > 0 ? operand(in, 6) : nullptr;
    sum(operand<const float>(in, 1), operand<const float>(in, 2), columns, offsets, w, state);
    update({columns, static_cast<std::size_t>(offsets[spec_.n])}, w, state, in[5], scratch);
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

 private:
  float* gradient() const { return reinterpret_cast<float*>(gradient_.data()); }
  bool is_inside(std::uint32_t row) const { return row < static_cast<std::uint32_t>(spec_.features); }

  void sum(const float* dy, const float* values, const std::int32_t* columns, const std::int32_t* offsets,
           const float* w, const float* state) const {
    float* g = gradient();
    const std::int32_t last = offsets[spec_.n] - 1;
    for (std::int64_t i = 0; i < spec_.n; ++i) {
      for (std::int32_t z = offsets[i]; z < offsets[i + 1]; ++z) {
        const auto next = static_cast<std::uint32_t>(columns[std::min(z + kAhead, last)]);
        if (is_inside(next)) {
          __builtin_prefetch(g + next, 1);
          __builtin_prefetch(w + next, 1);
          if (state != nullptr) __builtin_prefetch(state + next, 1);
        }
        const auto row = static_cast<std::uint32_t>(columns[z]);
        if (is_inside(row)) g[row] += values[z] * dy[i];
      }
    }
  }

  void update(std::span<const std::int32_t> columns, float* w, float* state, std::byte* hyper,
              std::byte* scratch) const {
    float* g = gradient();
    const auto part = [&](std::size_t i) { return reinterpret_cast<float*>(scratch + parts_[i]); };
    float *sums = part(0), *weights = part(1), *states = part(2);
    auto* places = reinterpret_cast<std::uint32_t*>(scratch + places_);
    std::size_t filled = 0;
    const auto flush = [&] {
      run_block(sums, weights, states, hyper);
      for (std::size_t i = 0; i < filled; ++i) w[places[i]] = weights[i];
      for (std::size_t i = 0; i < filled && state != nullptr; ++i) state[places[i]] = states[i];
      filled = 0;
    };
    for (std::size_t i = 0; i < parts_.size(); ++i) std::fill_n(part(i), kBlock, 0.0F);
    for (const std::int32_t column : columns) {
      const auto row = static_cast<std::uint32_t>(column);
      if (!is_inside(row) || g[row] == 0) continue;
      places[filled] = row;
      sums[filled] = g[row];
      weights[filled] = w[row];
      if (state != nullptr) states[filled] = state[row];
      g[row] = 0;
      if (++filled == kBlock) flush();
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
  const bool is_supported = spec.csr.dtype == DType::f32 && spec.csr.k == 1 && spec.csr.first == 0 &&
                            spec.update.slots() <= 1 && spec.update.decay == 0;
  return is_supported ? std::make_unique<CsrUpdate>(spec) : nullptr;
}

}  // namespace hocket::kernel
