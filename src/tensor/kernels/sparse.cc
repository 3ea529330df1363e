#include "tensor/kernels/sparse.h"

#include <algorithm>
#include <limits>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/row_groups.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/sparse.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// y += factor·x
void add_scaled(float factor, const float* x, float* y, std::size_t n) {
  for_vectors(n, [&](std::size_t i, auto lane) HWY_ATTR {
    lane.store(hn::MulAdd(splat(factor), lane.load(x + i), lane.load(y + i)), y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(add_scaled);

// With one column a call costs more than the addition.
void add_row(float factor, const float* x, float* y, std::int64_t width) {
  if (width == 1) {
    *y += factor * *x;
  } else {
    HWY_DYNAMIC_DISPATCH(add_scaled)(factor, x, y, static_cast<std::size_t>(width));
  }
}

bool is_inside(std::int64_t row, std::int64_t bound) { return row >= 0 && row < bound; }

// The sparse input of the three products.
struct CsrRows {
  CsrRows(Buffers in, std::size_t first)
      : values(operand<const float>(in, first)),
        columns(operand<const std::int32_t>(in, first + 1)),
        offsets(operand<const std::int32_t>(in, first + 2)) {}

  const float* values;
  const std::int32_t *columns, *offsets;
};

// Fetches w ahead, also that of the samples behind: its rows are far apart.
double sparse_dot(const CsrSpec& spec, const CsrRows& x, std::int64_t sample, const float* w) {
  constexpr std::int64_t kAhead = 64;
  double sum = 0;
  for (std::int64_t z = x.offsets[sample]; z < x.offsets[sample + 1]; ++z) {
    const std::int64_t next = z + kAhead < spec.capacity ? x.columns[z + kAhead] - spec.first : 0;
    if (is_inside(next, spec.features)) __builtin_prefetch(w + next);
    const std::int64_t row = x.columns[z] - spec.first;
    if (is_inside(row, spec.features)) sum += static_cast<double>(x.values[z]) * w[row];
  }
  return sum;
}

// Unique rows in ascending order of their ids, then padding; add(position, row) adds a position to its row.
template <typename Add>
void gather_rows(const RowGroups& groups, std::int64_t capacity, std::int64_t width, float* rows,
                 std::int32_t* row_ids, const Add& add) {
  std::int64_t used = 0;
  groups.for_each([&](std::int64_t id, std::int64_t position, bool is_first) {
    if (is_first) {
      row_ids[used] = static_cast<std::int32_t>(id);
      std::fill_n(rows + used * width, width, 0.0F);
      ++used;
    }
    add(position, rows + (used - 1) * width);
  });
  std::fill(row_ids + used, row_ids + capacity, -1);
  std::fill(rows + used * width, rows + capacity * width, 0.0F);
}

class CsrMatmulDwRows final : public Kernel {
 public:
  explicit CsrMatmulDwRows(const CsrSpec& spec) : spec_(spec) {
    sort_at_ = plan_.add(RowGroups::bytes(spec.capacity));
    sample_at_ = plan_.add(static_cast<std::size_t>(spec.capacity) * sizeof(std::int32_t));
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const CsrRows x(in, 1);
    auto* sample = reinterpret_cast<std::int32_t*>(scratch + sample_at_);
    for (std::int64_t i = 0; i < spec_.n; ++i) {
      std::fill(sample + x.offsets[i], sample + x.offsets[i + 1], static_cast<std::int32_t>(i));
    }
    const RowGroups groups(x.columns, x.offsets[spec_.n], bound(), scratch + sort_at_);
    gather_rows(groups, spec_.capacity, spec_.k, operand(out, 0), operand<std::int32_t>(out, 1),
                [&](std::int64_t z, float* row) {
                  add_row(x.values[z], operand(in, 0) + sample[z] * spec_.k, row, spec_.k);
                });
  }
  std::size_t scratch_bytes() const override { return plan_.size(); }

 private:
  // Any column counts where the number of features is not known.
  std::int64_t bound() const {
    return spec_.features > 0 ? spec_.features : std::numeric_limits<std::int32_t>::max();
  }

  CsrSpec spec_;
  ScratchPlan plan_;
  std::size_t sort_at_, sample_at_;
};

class EmbeddingGradRows final : public Kernel {
 public:
  explicit EmbeddingGradRows(const EmbeddingSpec& spec) : spec_(spec) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const RowGroups groups(operand<const std::int32_t>(in, 1), spec_.count, spec_.vocabulary, scratch);
    gather_rows(groups, spec_.count, spec_.width, operand(out, 0), operand<std::int32_t>(out, 1),
                [&](std::int64_t i, float* row) {
                  add_row(1.0F, operand(in, 0) + i * spec_.width, row, spec_.width);
                });
  }
  std::size_t scratch_bytes() const override { return RowGroups::bytes(spec_.count); }

 private:
  EmbeddingSpec spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_csr_matmul(const CsrSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const CsrRows x(in, 0);
    const float* w = operand(in, 3);
    float* y = operand(out, 0);
    parallel_for(spec.n, 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (spec.k == 1) {
          y[i] = static_cast<float>(sparse_dot(spec, x, i, w));
          continue;
        }
        std::fill_n(y + i * spec.k, spec.k, 0.0F);
        for (std::int64_t z = x.offsets[i]; z < x.offsets[i + 1]; ++z) {
          const std::int64_t row = x.columns[z] - spec.first;
          if (is_inside(row, spec.features)) add_row(x.values[z], w + row * spec.k, y + i * spec.k, spec.k);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_csr_matmul_dw(const CsrSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const CsrRows x(in, 1);
    float* dw = operand(out, 0);
    std::fill_n(dw, spec.features * spec.k, 0.0F);
    for (std::int64_t i = 0; i < spec.n; ++i) {
      const float* dy = operand(in, 0) + i * spec.k;
      for (std::int64_t z = x.offsets[i]; z < x.offsets[i + 1]; ++z) {
        const std::int64_t row = x.columns[z] - spec.first;
        if (is_inside(row, spec.features)) add_row(x.values[z], dy, dw + row * spec.k, spec.k);
      }
    }
  });
}

std::unique_ptr<Kernel> make_csr_matmul_dw_rows(const CsrSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return std::make_unique<CsrMatmulDwRows>(spec);
}

std::unique_ptr<Kernel> make_embedding(const EmbeddingSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const auto* ids = operand<const std::int32_t>(in, 1);
    const std::int64_t grain =
        std::max<std::int64_t>(kElementGrain / std::max<std::int64_t>(spec.width, 1), 1);
    parallel_for(spec.count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* y = operand(out, 0) + i * spec.width;
        const std::int64_t row = ids[i] - spec.first;
        if (is_inside(row, spec.vocabulary)) {
          std::copy_n(operand(in, 0) + row * spec.width, spec.width, y);
        } else {
          std::fill_n(y, spec.width, 0.0F);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_embedding_grad(const EmbeddingSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    const auto* ids = operand<const std::int32_t>(in, 1);
    float* table = operand(out, 0);
    std::fill_n(table, spec.vocabulary * spec.width, 0.0F);
    for (std::int64_t i = 0; i < spec.count; ++i) {
      const std::int64_t row = ids[i] - spec.first;
      if (!is_inside(row, spec.vocabulary)) continue;
      add_row(1.0F, operand(in, 0) + i * spec.width, table + row * spec.width, spec.width);
    }
  });
}

std::unique_ptr<Kernel> make_embedding_grad_rows(const EmbeddingSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return std::make_unique<EmbeddingGradRows>(spec);
}

}  // namespace hocket::kernel
#endif
