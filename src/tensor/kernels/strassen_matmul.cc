#include "tensor/kernels/strassen_matmul.h"

#include <algorithm>

#include "tensor/kernels/epilogue.h"
#include "tensor/kernels/isa.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/sgemm.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/strassen_step.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/strassen_matmul.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/strassen-inl.h"

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(put_right);
HWY_EXPORT(multiply_rows);
HWY_EXPORT(right_tiles);
HWY_EXPORT(vector_floats);

constexpr std::int64_t kSliceDepth = 64;      // Of a part, about,
constexpr std::int64_t kSliceColumns = 1024;  // and of n: their panels of b stay in the last cache.
constexpr std::int64_t kMostBlockFloats = 16 * kMostLanes;
constexpr std::int64_t kLeastLanes = 8;  // With fewer, oneDNN is faster.
constexpr std::int64_t kPadsOfColumn = kPad / kMostLanes;
constexpr std::int64_t kTransposeRows = 64;  // That one thread transposes at a time.
constexpr std::int64_t kLeastSide = 256;     // Of two of m, n and k,
constexpr std::int64_t kLeastTerms = 128;    // and of k: below, packing takes what it saves.
constexpr std::int64_t kMostKept = 1 << 20;  // Floats of panels of b that are kept from part to part.

constexpr std::int64_t whole(std::int64_t count, std::int64_t unit) { return count / unit * unit; }

// A product with few rows is made as yᵀ = op(b)ᵀ·op(a)ᵀ: panels of the larger operand are made once a tile.
bool is_flat(const MatmulSpec& s) { return 2 * s.m <= s.n; }

class StrassenMatmul final : public Kernel {
 public:
  StrassenMatmul(const MatmulSpec& spec, bool swap, bool in_pairs)
      : spec_(spec),
        swap_(swap),
        in_pairs_(in_pairs),
        is_flipped_(is_flat(spec)),
        m_(whole(is_flipped_ ? spec.n : spec.m, kGroup)),
        n_(whole(is_flipped_ ? spec.m : spec.n, kGroup)),
        parts_(num_threads()) {
    cap_dnnl_isa();
    std::int64_t deepest = 0;
    for (std::int64_t i = 0; i < slices(); ++i) deepest = std::max(deepest, slice_at(i + 1) - slice_at(i));
    const std::int64_t depth = round_up(deepest, kMostLanes);
    const std::int64_t panel_rows = depth + (in_pairs ? 1 : 0), flat_rows = kSide * deepest;
    std::int64_t left = kProducts * (kMostLanes * panel_rows + kPad);
    if (in_pairs) left += kSide * kFlatRows * kFlatRow;
    right_floats_ = kProducts * std::min(n_, kSliceColumns) / kSide * (panel_rows + kPadsOfColumn);
    const std::int64_t kept = runs_in_parts() ? slices() : 1;
    right_at_ = add(kept * right_floats_);
    right_back_at_ = add(kept * kSliceColumns / kGroup);
    work_floats_ = std::max(10 * kMostBlockFloats + left, flat_rows * (2 * kMostLanes * kSide + kPad));
    work_at_ = add(parts_ * work_floats_);
    if (is_flipped_) flipped_at_ = add(m_ * n_);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    adopt_num_threads();
    const Product product = product_of(in, out, scratch);
    for (std::int64_t column = 0; column < n_; column += kSliceColumns) {
      for (std::int64_t slice = 0; slice < slices(); ++slice) {
        const StrassenStep step = step_of(product, column, slice, 0);
        pack(step, scratch);
        multiply(step, 0, m_, scratch);
      }
    }
    if (is_flipped_) flip_back(product, 0, m_);
    multiply_rest(product);
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

  std::int64_t part_unit() const override { return runs_in_parts() ? kGroup * row_of_weight() : 0; }
  void run_part(std::int64_t begin, std::int64_t end, Buffers in, Buffers out,
                std::byte* scratch) const override {
    adopt_num_threads();
    const Product product = product_of(in, out, scratch);
    const std::int64_t first = begin / row_of_weight(), last = end / row_of_weight();
    // What is beside the tiles has no parts: it is made as soon, or as late, as the weight allows.
    if (first == 0 && !is_flipped_) multiply_rest(product);
    for (std::int64_t slice = 0; slice < slices(); ++slice) {
      const StrassenStep step = step_of(product, 0, slice, slice);
      if (first == 0) pack(step, scratch);
      multiply(step, first, last, scratch);
    }
    if (!is_flipped_) return;
    flip_back(product, first, last);
    if (last == m_) multiply_rest(product);
  }

 private:
  std::size_t add(std::int64_t floats) { return plan_.add(static_cast<std::size_t>(floats) * sizeof(float)); }
  static float* floats_at(std::byte* scratch, std::size_t offset) {
    return reinterpret_cast<float*>(scratch + offset);
  }
  static Matrix flip(Matrix x) { return {x.data, x.stride, !x.is_transposed}; }
  // From (row, column) on.
  static Matrix from(Matrix x, std::int64_t row, std::int64_t column) {
    return {x.data + (x.is_transposed ? column * x.stride + row : row * x.stride + column), x.stride,
            x.is_transposed};
  }
  Matrix left(Buffers in) const {
    return {operand(in, swap_ ? 1 : 0), spec_.ta ? spec_.m : spec_.k, spec_.ta};
  }
  Matrix right(Buffers in) const {
    return {operand(in, swap_ ? 0 : 1), spec_.tb ? spec_.k : spec_.n, spec_.tb};
  }
  bool has_relu() const { return spec_.activation == Activation::relu; }

  // Slices of k, where they begin in the depth of a part: in whole vectors.
  std::int64_t slices() const { return std::max(std::int64_t{1}, (depth() + kSliceDepth / 2) / kSliceDepth); }
  std::int64_t slice_at(std::int64_t slice) const {
    return slice == slices() ? depth() : whole(slice * depth() / slices(), kMostLanes);
  }
  std::int64_t depth() const { return spec_.k / kSide; }

  // Rows of what is made are rows of the weight, or of its gradient, all of them in tiles.
  bool runs_in_parts() const {
    const bool is_layer = is_flipped_ && !spec_.ta && spec_.tb && m_ == spec_.n;
    const bool is_gradient = !is_flipped_ && spec_.ta && !spec_.tb && m_ == spec_.m;
    return (is_layer || is_gradient) && n_ <= kSliceColumns && slices() * right_floats_ <= kMostKept;
  }
  std::int64_t row_of_weight() const { return is_flipped_ ? spec_.k : spec_.n; }

  // One product of given operands: as it is made in tiles, and what comes of it.
  struct Product {
    Matrix a, b;  // Of y,
    float* y;
    const float* bias;
    Matrix left, right;  // and of what is made, (m_, n_): y or, where it is flipped, yᵀ.
    float* made;
    std::int64_t made_stride;
    float* panels;
    float* panels_back;
  };

  Product product_of(Buffers in, Buffers out, std::byte* scratch) const {
    const Matrix a = left(in), b = right(in);
    float* y = operand(out, 0);
    return {.a = a,
            .b = b,
            .y = y,
            .bias = spec_.has_bias ? operand(in, 2) : nullptr,
            .left = is_flipped_ ? flip(b) : a,
            .right = is_flipped_ ? flip(a) : b,
            .made = is_flipped_ ? floats_at(scratch, flipped_at_) : y,
            .made_stride = is_flipped_ ? n_ : spec_.n,
            .panels = floats_at(scratch, right_at_),
            .panels_back = floats_at(scratch, right_back_at_)};
  }

  // Of a slice of k and its columns from `column` on, with the panels of b in place `kept`.
  StrassenStep step_of(const Product& p, std::int64_t column, std::int64_t slice, std::int64_t kept) const {
    const std::int64_t k = kSide * slice_at(slice), end = kSide * slice_at(slice + 1);
    const bool ends_here = slice + 1 == slices() && !is_flipped_;
    return {.m = m_,
            .n = std::min(kSliceColumns, n_ - column),
            .k = end - k,
            .a = from(p.left, 0, k),
            .b = from(p.right, k, column),
            .y = p.made + column,
            .y_stride = p.made_stride,
            .adds = slice > 0,
            .bias = ends_here && p.bias != nullptr ? p.bias + column : nullptr,
            .has_relu = ends_here && has_relu(),
            .right = p.panels + kept * right_floats_,
            .in_pairs = in_pairs_,
            .right_back = p.panels_back + kept * kSliceColumns / kGroup};
  }

  void pack(const StrassenStep& step, std::byte* scratch) const {
    float* work = floats_at(scratch, work_at_);
    by_parts(0, HWY_DYNAMIC_DISPATCH(right_tiles)(step), [&](std::int64_t tile, std::int64_t part) {
      HWY_DYNAMIC_DISPATCH(put_right)(step, tile, work + part * work_floats_);
    });
  }

  // Rows `begin` to `end` of what is made, whole groups.
  void multiply(const StrassenStep& step, std::int64_t begin, std::int64_t end, std::byte* scratch) const {
    float* work = floats_at(scratch, work_at_);
    const std::int64_t rows = kSide * HWY_DYNAMIC_DISPATCH(vector_floats)();  // Of a tile.
    by_parts(begin / rows, end / rows, [&](std::int64_t tile, std::int64_t part) {
      HWY_DYNAMIC_DISPATCH(multiply_rows)(step, tile, work + part * work_floats_);
    });
  }

  // Columns `begin` to `end` of y, which have been made as rows.
  void flip_back(const Product& p, std::int64_t begin, std::int64_t end) const {
    parallel_for(end - begin, kTransposeRows, [&](std::int64_t first, std::int64_t last) {
      transpose_floats(p.made + (begin + first) * n_, n_, last - first, n_, p.y + begin + first, spec_.n);
    });
    apply_epilogue(p.y + begin, n_, end - begin, spec_.n, p.bias == nullptr ? nullptr : p.bias + begin,
                   has_relu());
  }

  // Calls body(tile, part) for the tiles from `first` to `last`, each part, which has memory of its own, on
  // one thread.
  template <typename Body>
  void by_parts(std::int64_t first, std::int64_t last, const Body& body) const {
    const std::int64_t tiles = last - first;
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        for (std::int64_t tile = part * tiles / parts_; tile < (part + 1) * tiles / parts_; ++tile)
          body(first + tile, part);
      }
    });
  }

  // What the whole units of rows and columns leave: the columns on the right, and the rows below.
  void multiply_rest(const Product& p) const {
    const std::int64_t rows = is_flipped_ ? n_ : m_, columns = is_flipped_ ? m_ : n_;
    const auto multiply_box = [&](std::int64_t row, std::int64_t height, std::int64_t column,
                                  std::int64_t width) {
      if (height == 0 || width == 0) return;
      float* box = p.y + row * spec_.n + column;
      sgemm(height, width, spec_.k, from(p.a, row, 0), from(p.b, 0, column), box, spec_.n);
      apply_epilogue(box, height, width, spec_.n, p.bias == nullptr ? nullptr : p.bias + column, has_relu());
    };
    parallel_for(2, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (i == 0) multiply_box(0, spec_.m, columns, spec_.n - columns);
        if (i == 1) multiply_box(rows, spec_.m - rows, 0, columns);
      }
    });
  }

  MatmulSpec spec_;
  bool swap_, in_pairs_, is_flipped_;
  std::int64_t m_, n_, parts_;  // Rows and columns of the part that goes in tiles, as it is made.
  ScratchPlan plan_;
  std::int64_t right_floats_ = 0, work_floats_ = 0;
  std::size_t right_at_ = 0, right_back_at_ = 0, work_at_ = 0, flipped_at_ = 0;
};

bool is_supported(const MatmulSpec& s) {
  const std::int64_t inside = whole(s.m, kGroup) * whole(s.n, kGroup);
  const int large = (s.m >= kLeastSide) + (s.n >= kLeastSide) + (s.k >= kLeastSide);
  return s.batch == 1 && large >= 2 && s.k >= kLeastTerms && s.k % kSide == 0 && 8 * inside >= 7 * s.m * s.n;
}

}  // namespace

std::unique_ptr<Kernel> make_strassen_matmul(const MatmulSpec& spec, bool swap, bool in_pairs) {
  const std::int64_t lanes = HWY_DYNAMIC_DISPATCH(vector_floats)();
  if (!is_supported(spec) || lanes < kLeastLanes) return nullptr;
  return std::make_unique<StrassenMatmul>(spec, swap, in_pairs && lanes == kMostLanes);
}

}  // namespace hocket::kernel
#endif
