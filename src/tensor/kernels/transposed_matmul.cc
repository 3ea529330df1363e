#include "tensor/kernels/transposed_matmul.h"

#include <algorithm>

#include "tensor/kernels/epilogue.h"
#include "tensor/kernels/isa.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/sgemm.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

// oneDNN's sgemm reads a right operand in plain order where it lies, but copies a transposed one for every
// product, more slowly than we transpose it. So the smaller operand is transposed: b, or a with the result
// transposed too, yᵀ = b·aᵀ. A b whose rows are pages apart meets itself in a few sets of the first cache,
// and is copied to rows that do not. Tiles depend on the shape alone, so that the result does not depend on
// the number of threads.
namespace hocket::kernel {
namespace {

constexpr std::int64_t kLeast = 32;      // Of m, n and k.
constexpr std::int64_t kTile = 256;      // Rows of the product in a tile,
constexpr std::int64_t kFlatTile = 128;  // or of the weight, where they are the longer side.
constexpr std::int64_t kMoveRows = 64;   // Of an operand that one thread moves at a time.
constexpr std::int64_t kSlice = 1024;    // Of k: a longer operand leaves the caches.
constexpr std::int64_t kPageFloats = 1024;
constexpr std::int64_t kPad = 16;  // Floats between rows of b as it is moved.

std::int64_t tiles(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

const float* bias_of(const MatmulSpec& spec, Buffers in) { return spec.has_bias ? operand(in, 2) : nullptr; }

// to (columns, rows; rows to_stride apart) = the transpose of (rows, columns) floats whose rows are `stride`
// apart, by all threads.
void transpose_by_all(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                      float* to, std::int64_t to_stride) {
  parallel_for(rows, kMoveRows, [&](std::int64_t begin, std::int64_t end) {
    transpose_floats(from + begin * stride, stride, end - begin, columns, to + begin, to_stride);
  });
}

void copy_by_all(const float* from, std::int64_t rows, std::int64_t columns, float* to,
                 std::int64_t to_stride) {
  parallel_for(rows, kMoveRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      std::copy_n(from + row * columns, columns, to + row * to_stride);
  });
}

// Moves b, slice by slice of k.
class MovedRight final : public Kernel {
 public:
  explicit MovedRight(const MatmulSpec& spec) : spec_(spec), stride_(spec.n + kPad) { cap_dnnl_isa(); }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    adopt_num_threads();
    auto* b = reinterpret_cast<float*>(scratch);
    for (std::int64_t k = 0; k < spec_.k; k += kSlice) {
      const std::int64_t depth = std::min(kSlice, spec_.k - k);
      if (spec_.tb) {
        transpose_by_all(operand(in, 1) + k, spec_.k, spec_.n, depth, b, stride_);
      } else {
        copy_by_all(operand(in, 1) + k * spec_.n, depth, spec_.n, b, stride_);
      }
      parallel_for(tiles(spec_.m, kTile), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t tile = begin; tile < end; ++tile) {
          const std::int64_t row = tile * kTile, rows = std::min(kTile, spec_.m - row);
          float* y = operand(out, 0) + row * spec_.n;
          sgemm(rows, spec_.n, depth, {operand(in, 0) + row * spec_.k + k, spec_.k}, {b, stride_}, y, spec_.n,
                k > 0);
          if (k + depth < spec_.k) continue;
          apply_epilogue(y, rows, spec_.n, spec_.n, bias_of(spec_, in), spec_.activation == Activation::relu);
        }
      });
    }
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(std::min(kSlice, spec_.k) * stride_) * sizeof(float);
  }

 private:
  MatmulSpec spec_;
  std::int64_t stride_;
};

// Transposes a and the result. Rows of yᵀ are those of the weight b, and run in parts.
class TransposedLeft final : public Kernel {
 public:
  explicit TransposedLeft(const MatmulSpec& spec)
      : spec_(spec),
        tile_(spec.m <= kTile ? kFlatTile : kTile),
        a_at_(plan_.add(static_cast<std::size_t>(spec.k * spec.m) * sizeof(float))),
        y_at_(plan_.add(static_cast<std::size_t>(spec.n * spec.m) * sizeof(float))) {
    cap_dnnl_isa();
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    run_part(0, spec_.n * spec_.k, in, out, scratch);
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

  std::int64_t part_unit() const override { return tile_ * spec_.k; }
  void run_part(std::int64_t begin, std::int64_t end, Buffers in, Buffers out,
                std::byte* scratch) const override {
    adopt_num_threads();
    auto* a = reinterpret_cast<float*>(scratch + a_at_);
    if (begin == 0) transpose_by_all(operand(in, 0), spec_.k, spec_.m, spec_.k, a, spec_.m);
    const float* bias = bias_of(spec_, in);
    const std::int64_t first_tile = begin / part_unit(), last_column = end / spec_.k;
    parallel_for(tiles(last_column, tile_) - first_tile, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t tile = first_tile + first; tile < first_tile + last; ++tile) {
        const std::int64_t column = tile * tile_, columns = std::min(tile_, last_column - column);
        float* flipped = reinterpret_cast<float*>(scratch + y_at_) + column * spec_.m;
        sgemm(columns, spec_.m, spec_.k, {operand(in, 1) + column * spec_.k, spec_.k}, {a, spec_.m}, flipped,
              spec_.m);
        float* y = operand(out, 0) + column;
        transpose_floats(flipped, spec_.m, columns, spec_.m, y, spec_.n);
        apply_epilogue(y, spec_.m, columns, spec_.n, bias == nullptr ? nullptr : bias + column,
                       spec_.activation == Activation::relu);
      }
    });
  }

 private:
  MatmulSpec spec_;
  std::int64_t tile_;
  ScratchPlan plan_;
  std::size_t a_at_, y_at_;
};

}  // namespace

std::unique_ptr<Kernel> make_transposed_matmul(const MatmulSpec& spec) {
  if (spec.ta || spec.batch > 1 || std::min({spec.m, spec.n, spec.k}) < kLeast) return nullptr;
  if (!spec.tb) {
    const bool aliases = spec.n % kPageFloats == 0 && spec.m > kTile && spec.n <= spec.m;
    return aliases ? std::make_unique<MovedRight>(spec) : nullptr;
  }
  if (spec.n <= spec.m && (spec.m > kTile || spec.k <= kSlice)) return std::make_unique<MovedRight>(spec);
  if (spec.m < spec.n && spec.k <= kSlice) return std::make_unique<TransposedLeft>(spec);
  return nullptr;
}

}  // namespace hocket::kernel
