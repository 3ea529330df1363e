#include "tensor/kernels/paired_matmul.h"

#include <algorithm>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/paired_step.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/paired_matmul.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/paired-inl.h"

// One operand is held: its panels are made at once and for all terms. The other one moves: panels of a block
// of its lines, and of a slice of the terms, stay in the second cache while they meet those of the first.
#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(put_panels);
HWY_EXPORT(multiply_step);
HWY_EXPORT(lines_of_panel);

constexpr std::int64_t kSliceDepth = 2048;      // At most.
constexpr std::int64_t kBlockFloats = 1 << 17;  // Of the operand that moves, in lines between these:
constexpr std::int64_t kLeastBlock = 64, kMostBlock = 256;
constexpr std::int64_t kPartLines = 64;      // The least that a product in parts is made of.
constexpr std::int64_t kLeastLines = 64;     // Rows and columns,
constexpr std::int64_t kLeastTerms = 64;     // and terms: below, making panels takes what they save.
constexpr std::int64_t kMostHeld = 1 << 20;  // Floats of the larger operand that are held for parts.

class PairedMatmul final : public Kernel {
 public:
  PairedMatmul(const MatmulSpec& spec, bool swap)
      : spec_(spec), swap_(swap), lanes_(HWY_DYNAMIC_DISPATCH(lines_of_panel)()), parts_(num_threads()) {
    const bool is_layer = !spec.ta && spec.tb && spec.m <= spec.n;
    const bool is_gradient = spec.ta && !spec.tb && (spec.n <= spec.m || spec.n * spec.k <= kMostHeld);
    moves_a_ = is_gradient || (!is_layer && spec.n <= spec.m);
    runs_in_parts_ = is_layer || is_gradient;
    held_at_ = add(panels_of(held_lines()) * panel_floats(spec.k, lanes_) +
                   panels_of(held_lines()) * (slices() - 1) * panel_floats(0, lanes_));
    const std::int64_t depth = (spec.k + slices() - 1) / slices();
    block_lines_ = std::clamp(kBlockFloats / depth / kLeastBlock * kLeastBlock, kLeastBlock, kMostBlock);
    block_floats_ = block_lines_ / lanes_ * panel_floats(depth, lanes_);
    block_at_ = add(parts_ * block_floats_);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    multiply_lines(0, moving_lines(), in, out, scratch);
  }
  void run_and_fetch(Buffers in, Buffers out, std::byte* scratch, MemoryRanges lines) const override {
    constexpr std::int64_t kLine = 64, kBlock = 8 * 32;  // Of y.
    std::int64_t bytes = 0;
    for (const std::span<std::byte> range : lines) bytes += static_cast<std::int64_t>(range.size());
    const std::int64_t blocks = slices() * spec_.m * spec_.n / kBlock;
    LinesAhead ahead(lines, bytes / kLine / blocks + 1);
    multiply_lines(0, moving_lines(), in, out, scratch, parts_ == 1 ? &ahead : nullptr);
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

  std::int64_t part_unit() const override { return runs_in_parts_ ? kPartLines * line_of_weight() : 0; }
  void run_part(std::int64_t begin, std::int64_t end, Buffers in, Buffers out,
                std::byte* scratch) const override {
    multiply_lines(begin / line_of_weight(), end / line_of_weight(), in, out, scratch);
  }

 private:
  std::size_t add(std::int64_t floats) { return plan_.add(static_cast<std::size_t>(floats) * sizeof(float)); }
  std::int64_t line_of_weight() const { return moves_a_ ? spec_.n : spec_.k; }
  std::int64_t held_lines() const { return moves_a_ ? spec_.n : spec_.m; }
  std::int64_t moving_lines() const { return moves_a_ ? spec_.m : spec_.n; }
  std::int64_t panels_of(std::int64_t lines) const { return (lines + lanes_ - 1) / lanes_; }

  std::int64_t slices() const { return (spec_.k + kSliceDepth - 1) / kSliceDepth; }
  std::int64_t slice_at(std::int64_t slice) const { return slice * spec_.k / slices(); }
  std::int64_t depth_of(std::int64_t slice) const { return slice_at(slice + 1) - slice_at(slice); }
  // Of the held panels of a slice.
  std::int64_t held_place(std::int64_t slice) const {
    return panels_of(held_lines()) * (slice_at(slice) + 2 * slice) * lanes_;
  }

  Matrix left(Buffers in) const {
    return {operand(in, swap_ ? 1 : 0), spec_.ta ? spec_.m : spec_.k, spec_.ta};
  }
  Matrix right(Buffers in) const {
    return {operand(in, swap_ ? 0 : 1), spec_.tb ? spec_.k : spec_.n, !spec_.tb};
  }

  // Lines `first` to `end` of the operand that moves; the first of them begin a product.
  void multiply_lines(std::int64_t first, std::int64_t end, Buffers in, Buffers out, std::byte* scratch,
                      LinesAhead* ahead = nullptr) const {
    adopt_num_threads();
    const Matrix held = moves_a_ ? right(in) : left(in), moving = moves_a_ ? left(in) : right(in);
    auto* held_panels = reinterpret_cast<float*>(scratch + held_at_);
    if (first == 0) {
      const std::int64_t lines = held_lines(), across = panels_of(lines);
      parallel_for(slices() * across, 1, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to;) {
          const std::int64_t slice = i / across, panel = i % across;
          const std::int64_t panels = std::min(to - i, across - panel), line = panel * lanes_;
          HWY_DYNAMIC_DISPATCH(put_panels)
          ({held, line, std::min(lines - line, panels * lanes_), slice_at(slice), depth_of(slice)},
           held_panels + held_place(slice) + panel * panel_floats(depth_of(slice), lanes_));
          i += panels;
        }
      });
    }
    const std::int64_t blocks = (end - first + block_lines_ - 1) / block_lines_;
    parallel_for(parts_, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t part = from; part < to; ++part) {
        auto* panels = reinterpret_cast<float*>(scratch + block_at_) + part * block_floats_;
        for (std::int64_t i = part * blocks / parts_; i < (part + 1) * blocks / parts_; ++i) {
          const std::int64_t line = first + i * block_lines_;
          multiply_block(moving, line, std::min(end, line + block_lines_), panels, held_panels, in, out,
                         ahead);
        }
      }
    });
  }

  void multiply_block(Matrix moving, std::int64_t first, std::int64_t end, float* panels,
                      const float* held_panels, Buffers in, Buffers out, LinesAhead* ahead) const {
    for (std::int64_t slice = 0; slice < slices(); ++slice) {
      HWY_DYNAMIC_DISPATCH(put_panels)
      ({moving, first, end - first, slice_at(slice), depth_of(slice)}, panels);
      const Panels here{panels, first, end - first};
      const Panels held{held_panels + held_place(slice), 0, held_lines()};
      const bool ends_here = slice + 1 == slices();
      HWY_DYNAMIC_DISPATCH(multiply_step)
      ({.a = moves_a_ ? here : held,
        .b = moves_a_ ? held : here,
        .depth = depth_of(slice),
        .y = operand(out, 0),
        .y_stride = spec_.n,
        .adds = slice > 0,
        .bias = ends_here && spec_.has_bias ? operand(in, 2) : nullptr,
        .has_relu = ends_here && spec_.activation == Activation::relu,
        .ahead = ahead});
    }
  }

  MatmulSpec spec_;
  bool swap_, moves_a_ = false, runs_in_parts_ = false;
  std::int64_t lanes_, parts_, block_lines_ = 0, block_floats_ = 0;
  ScratchPlan plan_;
  std::size_t held_at_ = 0, block_at_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_paired_matmul(const MatmulSpec& spec, bool swap) {
  if (spec.batch != 1 || std::min(spec.m, spec.n) < kLeastLines || spec.k < kLeastTerms) return nullptr;
  return std::make_unique<PairedMatmul>(spec, swap);
}

}  // namespace hocket::kernel
#endif
