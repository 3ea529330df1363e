#include <algorithm>
#include <optional>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/shape.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

// Sums over any axes, as (outer, rows, columns, inner) with rows and inner summed away: neighbouring axes
// that are both kept or both summed are one. f32 over short blocks, f64 over blocks; no order depends on the
// number of threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/reduce.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

double sum_run(const float* x, std::int64_t count) {
  constexpr std::int64_t kBlock = 4096;
  double sum = 0;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    sum += static_cast<double>(sum_of_row(x + i, static_cast<std::size_t>(std::min(kBlock, count - i))));
  }
  return sum;
}

float max_run(const float* x, std::int64_t count) { return max_of_row(x, static_cast<std::size_t>(count)); }

// sums[j] += Σ over up to 32 rows, `stride` apart, of x[row][j].
HWY_INLINE void add_rows(const float* x, std::int64_t rows, std::int64_t stride, std::size_t width,
                         double* sums) {
  for_vectors(width, [&](std::size_t j, auto lane) HWY_ATTR {
    Vec a = zero(), b = zero();
    std::int64_t row = 0;
    for (; row + 2 <= rows; row += 2) {
      a = hn::Add(a, lane.load(x + row * stride + j));
      b = hn::Add(b, lane.load(x + (row + 1) * stride + j));
    }
    if (row < rows) a = hn::Add(a, lane.load(x + row * stride + j));
    HWY_ALIGN float values[hn::MaxLanes(kFloats)] = {};
    hn::Store(hn::Add(a, b), kFloats, values);
    for (std::size_t i = 0; i < std::min(lanes(), width - j); ++i)
      sums[j + i] += static_cast<double>(values[i]);
  });
}

void sum_columns(const float* x, std::int64_t rows, std::int64_t stride, std::int64_t width, double* sums) {
  constexpr std::int64_t kBlock = 32;
  std::fill_n(sums, width, 0.0);
  for (std::int64_t row = 0; row < rows; row += kBlock) {
    add_rows(x + row * stride, std::min(kBlock, rows - row), stride, static_cast<std::size_t>(width), sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(sum_run);
HWY_EXPORT(max_run);
HWY_EXPORT(sum_columns);

struct Extents {
  std::int64_t outer = 1, rows = 1, columns = 1, inner = 1;
};

// The four extents; nothing where kept and summed axes alternate more often.
std::optional<Extents> merge_axes(const ReduceSpec& spec) {
  Extents e;
  std::int64_t* order[] = {&e.outer, &e.rows, &e.columns, &e.inner};  // Even: kept. Odd: summed.
  int at = 0;
  for (int axis = 0; axis < spec.x.rank(); ++axis) {
    if (spec.x[axis] == 1) continue;
    const int parity = spec.reduced[static_cast<std::size_t>(axis)] ? 1 : 0;
    if (at % 2 != parity) ++at;
    if (at > 3) return std::nullopt;
    *order[at] *= spec.x[axis];
  }
  if (at == 1) std::swap(e.rows, e.inner);  // Nothing kept behind: whole runs.
  return e;
}

class ReduceRuns final : public Kernel {
 public:
  ReduceRuns(const Extents& extents, Reduce op) : e_(extents), op_(op) {}

  void run(Buffers in, Buffers out, std::byte*) const override {
    const std::int64_t grain = std::max<std::int64_t>(kElementGrain / (e_.rows * e_.inner), 1);
    parallel_for(e_.outer * e_.columns, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) operand(out, 0)[i] = reduce_one(operand(in, 0), i);
    });
  }

 private:
  float reduce_one(const float* x, std::int64_t i) const {
    const float* first = x + (i / e_.columns * e_.rows * e_.columns + i % e_.columns) * e_.inner;
    if (op_ == Reduce::max) return HWY_DYNAMIC_DISPATCH(max_run)(first, e_.inner);
    double sum = 0;
    for (std::int64_t row = 0; row < e_.rows; ++row) {
      sum += HWY_DYNAMIC_DISPATCH(sum_run)(first + row * e_.columns * e_.inner, e_.inner);
    }
    return static_cast<float>(op_ == Reduce::mean ? sum / static_cast<double>(e_.rows * e_.inner) : sum);
  }

  Extents e_;
  Reduce op_;
};

class ReduceColumns final : public Kernel {
 public:
  ReduceColumns(const Extents& extents, Reduce op) : e_(extents), op_(op) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    auto* sums = reinterpret_cast<double*>(scratch);
    const double scale = op_ == Reduce::mean ? 1 / static_cast<double>(e_.rows) : 1;
    const std::int64_t grain = std::max<std::int64_t>(kElementGrain / e_.rows, 64);
    for (std::int64_t outer = 0; outer < e_.outer; ++outer) {
      const float* x = operand(in, 0) + outer * e_.rows * e_.columns;
      float* y = operand(out, 0) + outer * e_.columns;
      parallel_for(e_.columns, grain, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(sum_columns)(x + begin, e_.rows, e_.columns, end - begin, sums + begin);
        for (std::int64_t j = begin; j < end; ++j) y[j] = static_cast<float>(scale * sums[j]);
      });
    }
  }
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(e_.columns) * sizeof(double); }

 private:
  Extents e_;
  Reduce op_;
};

}  // namespace

std::unique_ptr<Kernel> make_reduce(const ReduceSpec& spec) {
  if (spec.dtype != DType::f32 || spec.x.count() == 0) return nullptr;
  const std::optional<Extents> extents = merge_axes(spec);
  if (!extents || (spec.op == Reduce::max && extents->rows > 1)) return nullptr;
  if (extents->inner == 1 && extents->rows > 1) return std::make_unique<ReduceColumns>(*extents, spec.op);
  return std::make_unique<ReduceRuns>(*extents, spec.op);
}

std::unique_ptr<Kernel> make_reduce_max_grad(const ReduceSpec&) { return nullptr; }

}  // namespace hocket::kernel
#endif
