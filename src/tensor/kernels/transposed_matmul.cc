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
// transposed too, yᵀ = b·aᵀ. Tiles depend on the shape alone, so that the result does not depend on the
// number of threads.
namespace hocket::kernel {
namespace {

constexpr std::int64_t kLeast = 32;          // Of m, n and k.
constexpr std::int64_t kTile = 256;          // Rows of the product in a tile.
constexpr std::int64_t kTransposeRows = 64;  // Of an operand that one thread transposes at a time.
constexpr std::int64_t kSlice = 1024;        // Of k: a longer operand leaves the caches.

std::int64_t tiles(std::int64_t size) { return (size + kTile - 1) / kTile; }

const float* bias_of(const MatmulSpec& spec, Buffers in) { return spec.has_bias ? operand(in, 2) : nullptr; }

// to (columns, rows) = the transpose of (rows, columns) floats whose rows are `stride` apart, by all threads.
void transpose_by_all(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                      float* to) {
  parallel_for(rows, kTransposeRows, [&](std::int64_t begin, std::int64_t end) {
    transpose_floats(from + begin * stride, stride, end - begin, columns, to + begin, rows);
  });
}

// Transposes b, slice by slice of k.
class TransposedRight final : public Kernel {
 public:
  explicit TransposedRight(const MatmulSpec& spec) : spec_(spec) { cap_dnnl_isa(); }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    adopt_num_threads();
    auto* b = reinterpret_cast<float*>(scratch);
    for (std::int64_t k = 0; k < spec_.k; k += kSlice) {
      const std::int64_t depth = std::min(kSlice, spec_.k - k);
      transpose_by_all(operand(in, 1) + k, spec_.k, spec_.n, depth, b);
      parallel_for(tiles(spec_.m), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t tile = begin; tile < end; ++tile) {
          const std::int64_t row = tile * kTile, rows = std::min(kTile, spec_.m - row);
          float* y = operand(out, 0) + row * spec_.n;
          sgemm(rows, spec_.n, depth, {operand(in, 0) + row * spec_.k + k, spec_.k}, {b, spec_.n}, y, spec_.n,
                k > 0);
          if (k + depth < spec_.k) continue;
          apply_epilogue(y, rows, spec_.n, spec_.n, bias_of(spec_, in), spec_.activation == Activation::relu);
        }
      });
    }
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(std::min(kSlice, spec_.k) * spec_.n) * sizeof(float);
  }

 private:
  MatmulSpec spec_;
};

// Transposes a and the result.
class TransposedLeft final : public Kernel {
 public:
  explicit TransposedLeft(const MatmulSpec& spec)
      : spec_(spec),
        a_at_(plan_.add(static_cast<std::size_t>(spec.k * spec.m) * sizeof(float))),
        y_at_(plan_.add(static_cast<std::size_t>(spec.n * spec.m) * sizeof(float))) {
    cap_dnnl_isa();
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    adopt_num_threads();
    auto* a = reinterpret_cast<float*>(scratch + a_at_);
    transpose_by_all(operand(in, 0), spec_.k, spec_.m, spec_.k, a);
    const float* bias = bias_of(spec_, in);
    parallel_for(tiles(spec_.n), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = begin; tile < end; ++tile) {
        const std::int64_t column = tile * kTile, columns = std::min(kTile, spec_.n - column);
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
  std::size_t scratch_bytes() const override { return plan_.size(); }

 private:
  MatmulSpec spec_;
  ScratchPlan plan_;
  std::size_t a_at_, y_at_;
};

}  // namespace

std::unique_ptr<Kernel> make_transposed_matmul(const MatmulSpec& spec) {
  if (spec.ta || !spec.tb || spec.batch > 1 || std::min({spec.m, spec.n, spec.k}) < kLeast) return nullptr;
  if (spec.n <= spec.m && (spec.m > kTile || spec.k <= kSlice))
    return std::make_unique<TransposedRight>(spec);
  if (spec.m < spec.n && spec.k <= kSlice) return std::make_unique<TransposedLeft>(spec);
  return nullptr;
}

}  // namespace hocket::kernel
