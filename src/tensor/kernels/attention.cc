#include "tensor/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

#ifndef HOCKET_TENSOR_KERNELS_ATTENTION_SHAPE_
#define HOCKET_TENSOR_KERNELS_ATTENTION_SHAPE_
namespace hocket::kernel {

constexpr std::int64_t kLineFloats = 16;

// One head of one sample in the packed (t, heads, 3, width) tensor and in the (t, heads, width) result.
struct HeadShape {
  std::int64_t t, width;
  std::int64_t y_stride, qkv_stride;  // From one position to the next.
  std::int64_t row;                   // Floats of a row in scratch memory: t or more, whole cache lines.
  bool causal;
  float scale;

  // Of the queries before `end`.
  std::int64_t keys(std::int64_t end) const { return causal ? end : t; }
};

}  // namespace hocket::kernel
#endif

// Attention, one head of one sample at a time, straight out of the packed tensor; only what would be read
// down its columns is transposed first. A tile of queries, as many as a product in registers has rows, goes
// through all of it at once. If causal, it sees only the keys up to its last, so that nearly half of the
// products are never made.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/attention.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

struct Left {  // A factor that is read one by one, so either way round.
  const float* data;
  std::int64_t row, step;
};
struct Right {  // A factor that is read in vectors.
  const float* data;
  std::int64_t step;
};

// y (kRows, kVectors vectors) = a · b. Without the pragmas GCC keeps the sums in memory.
template <int kRows, int kVectors, typename Lane>
HWY_INLINE void multiply_block(Lane lane, std::int64_t steps, Left a, Right b, float* y,
                               std::int64_t y_stride) {
  const auto step = static_cast<std::int64_t>(lanes());
  Vec sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = zero();
  }
  for (std::int64_t k = 0; k < steps; ++k, a.data += a.step, b.data += b.step) {
    Vec factors[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) factors[v] = lane.load(b.data + v * step);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Vec value = splat(a.data[r * a.row]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(value, factors[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) lane.store(sums[r][v], y + r * y_stride + v * step);
  }
}

// y (kRows, columns) = a · b
template <int kRows>
HWY_NOINLINE void multiply(std::int64_t columns, std::int64_t steps, Left a, Right b, float* y,
                           std::int64_t y_stride) {
  const auto step = static_cast<std::int64_t>(lanes());
  std::int64_t i = 0;
  for (; i + 2 * step <= columns; i += 2 * step)
    multiply_block<kRows, 2>(Whole{}, steps, a, {b.data + i, b.step}, y + i, y_stride);
  for_vectors(static_cast<std::size_t>(columns - i), [&](std::size_t at, auto lane) HWY_ATTR {
    multiply_block<kRows, 1>(lane, steps, a, {b.data + i + at, b.step}, y + i + at, y_stride);
  });
}

// Calls body(begin, rows) for tiles that cover [0, t): kTileRows positions each, and the rest one by one.
template <typename Body>
HWY_INLINE void for_tiles(std::int64_t t, const Body& body) {
  std::int64_t begin = 0;
  for (; begin + kTileRows <= t; begin += kTileRows) body(begin, std::integral_constant<int, kTileRows>{});
  for (; begin < t; ++begin) body(begin, std::integral_constant<int, 1>{});
}

HWY_INLINE std::int64_t whole_vectors(std::int64_t columns) {
  const auto step = static_cast<std::int64_t>(lanes());
  return (columns + step - 1) / step * step;
}

// Puts `value` in [begin, end) of a row, where `end` is the end of a vector.
HWY_INLINE void mask_row(float* row, std::size_t begin, std::size_t end, float value) {
  for (std::size_t i = begin / lanes() * lanes(); i < end; i += lanes()) {
    const Part kept{std::max(begin, i) - i};
    hn::StoreU(kept.keep(hn::LoadU(kFloats, row + i), splat(value)), kFloats, row + i);
  }
}

// scores (kRows, s.row) of the queries from `begin` on → probs (kRows, t), by way of the scores' own memory.
// Loop by loop over the rows, so that none waits for the sums of the one before.
template <int kRows>
HWY_INLINE void softmax_tile(const HeadShape& s, std::int64_t begin, float* scores, float* probs) {
  const auto keys = static_cast<std::size_t>(whole_vectors(s.keys(begin + kRows)));
  const auto t = static_cast<std::size_t>(s.t), seen = std::min(keys, t);
  float highest[kRows], sums[kRows];
  for (int r = 0; r < kRows; ++r) {
    mask_row(scores + r * s.row, static_cast<std::size_t>(s.keys(begin + r + 1)), keys,
             -std::numeric_limits<float>::infinity());
    highest[r] = max_of_row(scores + r * s.row, keys);
  }
  for (int r = 0; r < kRows; ++r)
    sums[r] = exp_row(scores + r * s.row, scores + r * s.row, keys, highest[r], s.scale);
  for (int r = 0; r < kRows; ++r) {
    scale_row(scores + r * s.row, probs + r * s.t, seen, 1.0F / sums[r]);
    std::fill(probs + r * s.t + seen, probs + (r + 1) * s.t, 0.0F);
  }
}

// dscores = scale·p·(dp − Σ p·dp), in place of dp.
template <int kRows>
HWY_INLINE void softmax_grad_tile(const HeadShape& s, std::int64_t begin, const float* probs, float* dp) {
  const auto keys = static_cast<std::size_t>(whole_vectors(s.keys(begin + kRows)));
  const std::size_t seen = std::min(keys, static_cast<std::size_t>(s.t));
  float dots[kRows];
  for (int r = 0; r < kRows; ++r) {
    mask_row(dp + r * s.row, static_cast<std::size_t>(s.keys(begin + r + 1)), keys, 0.0F);
    dots[r] = dot_rows(dp + r * s.row, probs + r * s.t, seen);
  }
  for (int r = 0; r < kRows; ++r)
    softmax_grad_row(dp + r * s.row, probs + r * s.t, dp + r * s.row, seen, dots[r], s.scale);
}

// Asks for rows that will soon be read or written: they lie too far apart for the processor to guess.
HWY_INLINE void prefetch(const float* data, std::int64_t stride, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; i += kLineFloats) __builtin_prefetch(data + r * stride + i, 0, 2);
  }
}

// scratch: the keys, transposed, and a tile of scores. The next head is `next` floats of y away.
void attention_head(const HeadShape& s, std::int64_t next, const float* query, float* y, float* probs,
                    float* scratch) {
  const float* key = query + s.width;
  const float* value = key + s.width;
  float* scores = scratch + s.width * s.row;
  transpose_floats(key, s.qkv_stride, s.t, s.width, scratch, s.row);
  for_tiles(s.t, [&](std::int64_t begin, auto rows) HWY_ATTR {
    const std::int64_t keys = s.keys(begin + rows);
    const float* q = query + begin * s.qkv_stride;
    float* p = probs + begin * s.t;
    prefetch(q + 3 * next, s.qkv_stride, rows, 3 * s.width);
    prefetch(y + next + begin * s.y_stride, s.y_stride, rows, s.width);
    multiply<rows>(whole_vectors(keys), s.width, {q, s.qkv_stride, 1}, {scratch, s.row}, scores, s.row);
    softmax_tile<rows>(s, begin, scores, p);
    multiply<rows>(s.width, keys, {p, s.t, 1}, {value, s.qkv_stride}, y + begin * s.y_stride, s.y_stride);
  });
}

// scratch: the values, transposed, and all dscores. Tiles of queries give dq; tiles of keys, which only the
// queries from their first on see, dk and dv.
void attention_head_grad(const HeadShape& s, std::int64_t next, const float* dy, const float* query,
                         const float* probs, float* dquery, float* scratch) {
  const float* key = query + s.width;
  const float* value = key + s.width;
  float* dscores = scratch + s.width * s.row;
  transpose_floats(value, s.qkv_stride, s.t, s.width, scratch, s.row);
  for_tiles(s.t, [&](std::int64_t begin, auto rows) HWY_ATTR {
    const std::int64_t keys = s.keys(begin + rows);
    const float* p = probs + begin * s.t;
    float* ds = dscores + begin * s.row;
    float* dq = dquery + begin * s.qkv_stride;
    prefetch(p + rows * s.t, s.t, rows, s.t);
    multiply<rows>(whole_vectors(keys), s.width, {dy + begin * s.y_stride, s.y_stride, 1}, {scratch, s.row},
                   ds, s.row);
    softmax_grad_tile<rows>(s, begin, p, ds);
    prefetch(dq + 3 * next, s.qkv_stride, rows, 3 * s.width);
    multiply<rows>(s.width, keys, {ds, s.row, 1}, {key, s.qkv_stride}, dq, s.qkv_stride);
  });
  for_tiles(s.t, [&](std::int64_t begin, auto rows) HWY_ATTR {
    const std::int64_t first = s.causal ? begin : 0, queries = s.t - first;
    const float* q = query + first * s.qkv_stride;
    const float* dy_first = dy + first * s.y_stride;
    float* dk = dquery + begin * s.qkv_stride + s.width;
    prefetch(query + 3 * next + begin * s.qkv_stride, s.qkv_stride, rows, 3 * s.width);
    multiply<rows>(s.width, queries, {dscores + first * s.row + begin, 1, s.row}, {q, s.qkv_stride}, dk,
                   s.qkv_stride);
    prefetch(dy + next + begin * s.y_stride, s.y_stride, rows, s.width);
    multiply<rows>(s.width, queries, {probs + first * s.t + begin, 1, s.t}, {dy_first, s.y_stride},
                   dk + s.width, s.qkv_stride);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(attention_head);
HWY_EXPORT(attention_head_grad);

constexpr std::int64_t kMostTileRows = 8;

// An odd number of cache lines: rows one below the other do not meet in one set of the cache.
std::int64_t scratch_row(std::int64_t t) { return ((t + kLineFloats - 1) / kLineFloats | 1) * kLineFloats; }

HeadShape head_shape(const AttentionSpec& s) {
  const std::int64_t width = s.c / s.heads;
  return {.t = s.t,
          .width = width,
          .y_stride = s.c,
          .qkv_stride = 3 * s.c,
          .row = scratch_row(s.t),
          .causal = s.causal,
          .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width)))};
}

// Each thread takes a part of the heads and has one transposed factor and `rows` more rows of scratch memory.
class AttentionKernel : public Kernel {
 public:
  std::size_t scratch_bytes() const final {
    return static_cast<std::size_t>(parts_ * part_floats()) * sizeof(float);
  }

 protected:
  AttentionKernel(const AttentionSpec& s, std::int64_t rows)
      : shape_(head_shape(s)),
        heads_(s.heads),
        all_heads_(s.n * s.heads),
        rows_(shape_.width + rows),
        parts_(std::min<std::int64_t>(all_heads_, num_threads())) {}

  // Calls body(head, scratch) for the heads of all samples.
  template <typename Body>
  void for_heads(std::byte* scratch, const Body& body) const {
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        float* own = reinterpret_cast<float*>(scratch) + part * part_floats();
        const std::int64_t last = (part + 1) * all_heads_ / parts_;
        for (std::int64_t head = part * all_heads_ / parts_; head < last; ++head) body(head, own);
      }
    });
  }

  std::int64_t result_at(std::int64_t head) const {
    return (head / heads_ * shape_.t * heads_ + head % heads_) * shape_.width;
  }
  // Where a head's query starts in qkv; its key and value follow, `width` further each.
  std::int64_t qkv_at(std::int64_t head) const { return 3 * result_at(head); }
  std::int64_t probs_at(std::int64_t head) const { return head * shape_.t * shape_.t; }
  // From this head's result to that of the next one, if there is one.
  std::int64_t next_after(std::int64_t head) const {
    return head + 1 < all_heads_ ? result_at(head + 1) - result_at(head) : 0;
  }

  HeadShape shape_;

 private:
  std::int64_t part_floats() const { return rows_ * shape_.row; }

  std::int64_t heads_, all_heads_, rows_, parts_;
};

class Attention final : public AttentionKernel {
 public:
  explicit Attention(const AttentionSpec& spec) : AttentionKernel(spec, kMostTileRows) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    for_heads(scratch, [&](std::int64_t head, float* own) {
      HWY_DYNAMIC_DISPATCH(attention_head)
      (shape_, next_after(head), operand(in, 0) + qkv_at(head), operand(out, 0) + result_at(head),
       operand(out, 1) + probs_at(head), own);
    });
  }
};

class AttentionGrad final : public AttentionKernel {
 public:
  explicit AttentionGrad(const AttentionSpec& spec) : AttentionKernel(spec, spec.t) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    for_heads(scratch, [&](std::int64_t head, float* own) {
      HWY_DYNAMIC_DISPATCH(attention_head_grad)
      (shape_, next_after(head), operand(in, 0) + result_at(head), operand(in, 1) + qkv_at(head),
       operand(in, 2) + probs_at(head), operand(out, 0) + qkv_at(head), own);
    });
  }
};

bool is_supported(const AttentionSpec& s) { return s.dtype == DType::f32 && s.n * s.t * s.c > 0; }

}  // namespace

std::unique_ptr<Kernel> make_attention(const AttentionSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return std::make_unique<Attention>(spec);
}

std::unique_ptr<Kernel> make_attention_grad(const AttentionSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return std::make_unique<AttentionGrad>(spec);
}

}  // namespace hocket::kernel
#endif
