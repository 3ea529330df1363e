#include "tensor/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/isa.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/sgemm.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

// Attention, one head of one sample at a time: products by sgemm straight out of the packed (t, heads, 3,
// width) tensor, softmax in vectors. Queries go in blocks, and a block that is causal sees only the keys up
// to its end, so that nearly half of the products are never made.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/attention.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// scores → probabilities over the first `visible` of `width` keys, in place; 0 beyond.
void masked_softmax(float* row, std::size_t visible, std::size_t width, float scale) {
  const float sum = exp_row(row, row, visible, max_of_row(row, visible), scale);
  scale_row(row, visible, 1.0F / sum);
  std::fill(row + visible, row + width, 0.0F);
}

// dscores = scale·p·(dp − Σ p·dp) over the first `visible` of `width` keys, in place of dp; 0 beyond.
void masked_softmax_grad(float* dp, const float* probs, std::size_t visible, std::size_t width, float scale) {
  softmax_grad_row(dp, probs, dp, visible, scale);
  std::fill(dp + visible, dp + width, 0.0F);
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(masked_softmax);
HWY_EXPORT(masked_softmax_grad);

constexpr std::int64_t kBlock = 64;  // Queries.

// The queries [begin, end) and how many keys they see.
struct Block {
  std::int64_t begin, end, keys;
  std::int64_t rows() const { return end - begin; }
};

class AttentionKernel : public Kernel {
 protected:
  explicit AttentionKernel(const AttentionSpec& s)
      : spec_(s),
        width_(s.c / s.heads),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(width_)))),
        block_(s.causal ? std::min(kBlock, s.t) : s.t) {
    cap_dnnl_isa();
  }

  // Where a head's query starts in qkv; its key and value follow, `width_` further each.
  std::int64_t qkv_at(std::int64_t head) const {
    return (head / spec_.heads * spec_.t * spec_.heads + head % spec_.heads) * 3 * width_;
  }
  std::int64_t result_at(std::int64_t head) const {
    return (head / spec_.heads * spec_.t * spec_.heads + head % spec_.heads) * width_;
  }
  std::int64_t probs_at(std::int64_t head) const { return head * spec_.t * spec_.t; }
  std::int64_t qkv_stride() const { return 3 * spec_.c; }

  std::size_t visible(std::int64_t query) const {
    return static_cast<std::size_t>(spec_.causal ? query + 1 : spec_.t);
  }

  template <typename Body>
  void for_blocks(const Body& body) const {
    for (std::int64_t begin = 0; begin < spec_.t; begin += block_) {
      const std::int64_t end = std::min(begin + block_, spec_.t);
      body(Block{begin, end, spec_.causal ? end : spec_.t});
    }
  }

  AttentionSpec spec_;
  std::int64_t width_;
  float scale_;
  std::int64_t block_;
};

class Attention final : public AttentionKernel {
 public:
  explicit Attention(const AttentionSpec& spec) : AttentionKernel(spec) {}

  void run(Buffers in, Buffers out, std::byte*) const override {
    adopt_num_threads();
    parallel_for(spec_.n * spec_.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t head = begin; head < end; ++head) {
        run_head(operand(in, 0) + qkv_at(head), operand(out, 0) + result_at(head),
                 operand(out, 1) + probs_at(head));
      }
    });
  }

 private:
  void run_head(const float* query, float* y, float* probs) const {
    const float* key = query + width_;
    const float* value = key + width_;
    for_blocks([&](const Block& b) {
      const Matrix q{query + b.begin * qkv_stride(), qkv_stride()};
      float* scores = probs + b.begin * spec_.t;
      sgemm(b.rows(), b.keys, width_, q, transposed(key, qkv_stride()), scores, spec_.t);
      for (std::int64_t i = b.begin; i < b.end; ++i) {
        HWY_DYNAMIC_DISPATCH(masked_softmax)
        (probs + i * spec_.t, visible(i), static_cast<std::size_t>(spec_.t), scale_);
      }
      sgemm(b.rows(), width_, b.keys, {scores, spec_.t}, {value, qkv_stride()}, y + b.begin * spec_.c,
            spec_.c);
    });
  }
};

class AttentionGrad final : public AttentionKernel {
 public:
  explicit AttentionGrad(const AttentionSpec& spec)
      : AttentionKernel(spec), parts_(std::min<std::int64_t>(spec.n * spec.heads, num_threads())) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    adopt_num_threads();
    const std::int64_t heads = spec_.n * spec_.heads;
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        float* dscores = reinterpret_cast<float*>(scratch) + part * spec_.t * spec_.t;
        for (std::int64_t head = part * heads / parts_; head < (part + 1) * heads / parts_; ++head) {
          run_head(operand(in, 0) + result_at(head), operand(in, 1) + qkv_at(head),
                   operand(in, 2) + probs_at(head), dscores, operand(out, 0) + qkv_at(head));
        }
      }
    });
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(parts_ * spec_.t * spec_.t) * sizeof(float);
  }

 private:
  // Queries in blocks for dq; keys in blocks for dk and dv, which see only the queries from their beginning
  // on.
  void run_head(const float* dy, const float* query, const float* probs, float* dscores,
                float* dquery) const {
    const float* key = query + width_;
    const float* value = key + width_;
    const std::int64_t t = spec_.t;
    for_blocks([&](const Block& b) {
      float* rows = dscores + b.begin * t;
      sgemm(b.rows(), b.keys, width_, {dy + b.begin * spec_.c, spec_.c}, transposed(value, qkv_stride()),
            rows, t);
      for (std::int64_t i = b.begin; i < b.end; ++i) {
        HWY_DYNAMIC_DISPATCH(masked_softmax_grad)
        (dscores + i * t, probs + i * t, visible(i), static_cast<std::size_t>(t), scale_);
      }
      sgemm(b.rows(), width_, b.keys, {rows, t}, {key, qkv_stride()}, dquery + b.begin * qkv_stride(),
            qkv_stride());
    });
    for_blocks([&](const Block& b) {
      const std::int64_t first = spec_.causal ? b.begin : 0;  // The first query that sees these keys.
      const std::int64_t at = first * t + b.begin;
      float* dkey = dquery + width_ + b.begin * qkv_stride();
      sgemm(b.rows(), width_, t - first, transposed(dscores + at, t),
            {query + first * qkv_stride(), qkv_stride()}, dkey, qkv_stride());
      sgemm(b.rows(), width_, t - first, transposed(probs + at, t), {dy + first * spec_.c, spec_.c},
            dkey + width_, qkv_stride());
    });
  }

  std::int64_t parts_;
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
