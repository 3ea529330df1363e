#include <algorithm>

#include "tensor/kernels/dnnl.h"
#include "tensor/kernels/epilogue.h"
#include "tensor/kernels/isa.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/paired_matmul.h"
#include "tensor/kernels/sgemm.h"
#include "tensor/kernels/strassen_matmul.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transposed_matmul.h"

// f32 products, but for large ones on some processors (strassen_matmul.h, paired_matmul.h), go through
// oneDNN's sgemm, which packs its operands itself and comes within a tenth of the processor's peak for most
// shapes of the bundled models; bias and activation follow while a tile is in cache. Tiles depend on the
// shape alone, so that the result does not depend on the number of threads. bf16 operands go through a
// primitive.
namespace hocket::kernel {
namespace {

// Rows or columns: below, packing the other operand again costs too much.
constexpr std::int64_t kTile = 256;
// Of k, where a is transposed: packing a tall operand at once thrashes the caches.
constexpr std::int64_t kTransposedSlice = 128;
constexpr std::int64_t kPartRows =
    128;  // Of the gradient of a weight: the least that it is made of in parts.

class SgemmKernel final : public Kernel {
 public:
  // `swap` takes the operands as (b, a), for matmul_dw with tb.
  SgemmKernel(const MatmulSpec& spec, bool swap) : spec_(spec), swap_(swap) {
    cap_dnnl_isa();
    slice_ = spec.ta && spec.k > 2 * kTransposedSlice ? kTransposedSlice : spec.k;
    runs_in_parts_ = spec.batch == 1 && spec.ta && !spec.tb && slice_ == spec.k && spec.m > kPartRows;
    tile_rows_ = runs_in_parts_ ? kPartRows : tile_of(spec.m);
    tile_columns_ = tile_rows_ == spec.m ? tile_of(spec.n) : spec.n;
  }

  void run(Buffers in, Buffers out, std::byte*) const override { multiply_rows(0, spec_.m, in, out); }

  // The gradient of a weight, a transposed, by its rows.
  std::int64_t part_unit() const override { return runs_in_parts_ ? kPartRows * spec_.n : 0; }
  void run_part(std::int64_t begin, std::int64_t end, Buffers in, Buffers out, std::byte*) const override {
    multiply_rows(begin / spec_.n, end / spec_.n, in, out);
  }

 private:
  static std::int64_t tile_of(std::int64_t size) {
    return size >= 4 * kTile ? 2 * kTile : size >= 2 * kTile ? kTile : size;
  }
  static std::int64_t tiles(std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; }

  // Rows `first` to `end` of each product of the batch; `first` begins a tile.
  void multiply_rows(std::int64_t first, std::int64_t end, Buffers in, Buffers out) const {
    adopt_num_threads();
    const auto* a = reinterpret_cast<const float*>(in[swap_ ? 1 : 0]);
    const auto* b = reinterpret_cast<const float*>(in[swap_ ? 0 : 1]);
    const auto* bias = spec_.has_bias ? reinterpret_cast<const float*>(in[2]) : nullptr;
    auto* y = reinterpret_cast<float*>(out[0]);
    const std::int64_t down = tiles(end - first, tile_rows_);
    const std::int64_t across = tiles(spec_.n, tile_columns_);
    parallel_for(spec_.batch * down * across, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t batch = i / (down * across);
        const std::int64_t row = first + i / across % down * tile_rows_;
        const std::int64_t column = i % across * tile_columns_;
        multiply(a + batch * spec_.m * spec_.k, b + batch * spec_.k * spec_.n, bias,
                 y + batch * spec_.m * spec_.n, row, column);
      }
    });
  }

  // The tile of one product that starts at (row, column).
  void multiply(const float* a, const float* b, const float* bias, float* y, std::int64_t row,
                std::int64_t column) const {
    const std::int64_t rows = std::min(tile_rows_, spec_.m - row);
    const std::int64_t columns = std::min(tile_columns_, spec_.n - column);
    float* y_tile = y + row * spec_.n + column;
    for (std::int64_t k = 0; k < spec_.k; k += slice_) {
      const float* a_slice = a + (spec_.ta ? k * spec_.m + row : row * spec_.k + k);
      const float* b_slice = b + (spec_.tb ? column * spec_.k + k : k * spec_.n + column);
      sgemm(rows, columns, std::min(slice_, spec_.k - k), {a_slice, spec_.ta ? spec_.m : spec_.k, spec_.ta},
            {b_slice, spec_.tb ? spec_.k : spec_.n, spec_.tb}, y_tile, spec_.n, k > 0);
    }
    apply_epilogue(y_tile, rows, columns, spec_.n, bias == nullptr ? nullptr : bias + column,
                   spec_.activation == Activation::relu);
  }

  MatmulSpec spec_;
  bool swap_, runs_in_parts_;
  std::int64_t tile_rows_, tile_columns_, slice_;
};

class DnnlMatmul final : public Kernel {
 public:
  DnnlMatmul(const MatmulSpec& spec, bool swap) : swap_(swap), has_bias_(spec.has_bias) {
    using Dims = dnnl::memory::dims;
    const auto in = dnnl_dtype(spec.input_dtype);
    const auto out = dnnl_dtype(spec.dtype);
    const Dims b_dims = {spec.batch, spec.k, spec.n};
    const MemoryDesc a({spec.batch, spec.m, spec.k}, in, strides(spec.m, spec.k, spec.ta));
    const MemoryDesc b(b_dims, in, strides(spec.k, spec.n, spec.tb));
    const MemoryDesc any(b_dims, in, FormatTag::any);
    const MemoryDesc y({spec.batch, spec.m, spec.n}, out, FormatTag::abc);
    const MemoryDesc bias = has_bias_ ? MemoryDesc({1, 1, spec.n}, out, FormatTag::abc) : MemoryDesc();
    const auto attributes = dnnl_attributes(spec.activation == Activation::relu);
    const auto request = has_bias_ ? dnnl::matmul::desc(a, any, bias, y) : dnnl::matmul::desc(a, any, y);
    const dnnl::matmul::primitive_desc desc(request, attributes, dnnl_engine());

    pack_ = DnnlReorder(b, desc.weights_desc(), plan_);
    pad_ = plan_.add(desc.scratchpad_desc().get_size());
    std::vector<DnnlPrimitive::Operand> operands = {{DNNL_ARG_SRC, a},
                                                    {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                                    {DNNL_ARG_DST, y},
                                                    {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
    if (has_bias_) operands.push_back({DNNL_ARG_BIAS, bias});
    multiply_ = DnnlPrimitive(dnnl::matmul(desc), operands);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const void* b = pack_.pack(in[swap_ ? 0 : 1], scratch);
    const void* a = in[swap_ ? 1 : 0];
    if (has_bias_) {
      multiply_.run({a, b, out[0], scratch + pad_, in[2]});
    } else {
      multiply_.run({a, b, out[0], scratch + pad_});
    }
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

 private:
  // Of a batch of (rows, columns) matrices, stored transposed where `transposed`.
  static dnnl::memory::dims strides(std::int64_t rows, std::int64_t columns, bool transposed) {
    if (transposed) return {rows * columns, 1, rows};
    return {rows * columns, columns, 1};
  }

  bool swap_, has_bias_;
  ScratchPlan plan_;
  DnnlReorder pack_;
  DnnlPrimitive multiply_;
  std::size_t pad_ = 0;
};

std::unique_ptr<Kernel> make_product(const MatmulSpec& spec, bool swap) {
  if (spec.dtype != DType::f32 || spec.m * spec.n * spec.k * spec.batch == 0) return nullptr;
  if (spec.input_dtype == DType::f32) {
    if (strassen_pays()) {
      if (std::unique_ptr<Kernel> strassen = make_strassen_matmul(spec, swap)) return strassen;
    }
    if (pairs_pay()) {
      if (std::unique_ptr<Kernel> paired = make_paired_matmul(spec, swap)) return paired;
    }
    std::unique_ptr<Kernel> transposed = swap ? nullptr : make_transposed_matmul(spec);
    return transposed != nullptr ? std::move(transposed) : std::make_unique<SgemmKernel>(spec, swap);
  }
  if (spec.input_dtype == DType::bf16) return std::make_unique<DnnlMatmul>(spec, swap);
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const MatmulSpec& spec) { return make_product(spec, false); }

std::unique_ptr<Kernel> make_matmul_dw(const MatmulSpec& spec) {
  MatmulSpec product = spec;
  product.ta = true;
  product.tb = false;
  product.k = spec.m * spec.batch;
  product.batch = 1;
  product.m = spec.tb ? spec.n : spec.k;
  product.n = spec.tb ? spec.k : spec.n;
  product.has_bias = false;
  product.activation = Activation::none;
  return make_product(product, spec.tb);
}

}  // namespace hocket::kernel
