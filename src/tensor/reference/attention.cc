#include "tensor/reference/attention.h"

#include <algorithm>
#include <cmath>

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

enum Part : std::int64_t { query = 0, key = 1, value = 2 };

// One head of one sample. qkv holds (t, heads, 3, width): a head's query, key and value side by side.
struct Head {
  const AttentionSpec& spec;
  std::int64_t sample, head;

  std::int64_t width() const { return spec.c / spec.heads; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width())); }
  std::int64_t visible(std::int64_t position) const { return spec.causal ? position + 1 : spec.t; }

  std::int64_t qkv(std::int64_t position, Part part, std::int64_t j) const {
    return (((sample * spec.t + position) * spec.heads + head) * 3 + part) * width() + j;
  }
  std::int64_t result(std::int64_t position, std::int64_t j) const {
    return ((sample * spec.t + position) * spec.heads + head) * width() + j;
  }
  std::int64_t probs(std::int64_t from, std::int64_t to) const {
    return ((sample * spec.heads + head) * spec.t + from) * spec.t + to;
  }
};

template <typename Body>
void for_each_head(const AttentionSpec& spec, Body body) {
  for (std::int64_t i = 0; i < spec.n * spec.heads; ++i) body(Head{spec, i / spec.heads, i % spec.heads});
}

// probs = softmax(q·kᵀ·scale) over the visible positions
template <typename T>
void attend_row(const Head& h, std::int64_t i, const T* qkv, T* probs) {
  const auto score = [&](std::int64_t j) {
    double dot = 0;
    for (std::int64_t d = 0; d < h.width(); ++d) {
      dot += static_cast<double>(qkv[h.qkv(i, query, d)]) * qkv[h.qkv(j, key, d)];
    }
    return dot * h.scale();
  };
  double most = score(0);
  for (std::int64_t j = 1; j < h.visible(i); ++j) most = std::max(most, score(j));
  double sum = 0;
  for (std::int64_t j = 0; j < h.visible(i); ++j) sum += std::exp(score(j) - most);
  for (std::int64_t j = 0; j < h.spec.t; ++j) {
    probs[h.probs(i, j)] = j < h.visible(i) ? static_cast<T>(std::exp(score(j) - most) / sum) : T{0};
  }
}

// ∂loss/∂score(i, j), before the scale: p·(dp − Σ p·dp) with dp = dy·vᵀ
template <typename T>
double score_gradient(const Head& h, std::int64_t i, std::int64_t j, const T* dy, const T* qkv,
                      const T* probs) {
  const auto dprob = [&](std::int64_t to) {
    double dot = 0;
    for (std::int64_t d = 0; d < h.width(); ++d) {
      dot += static_cast<double>(dy[h.result(i, d)]) * qkv[h.qkv(to, value, d)];
    }
    return dot;
  };
  double mean = 0;
  for (std::int64_t to = 0; to < h.visible(i); ++to) mean += probs[h.probs(i, to)] * dprob(to);
  return probs[h.probs(i, j)] * (dprob(j) - mean);
}

}  // namespace

std::unique_ptr<Kernel> make_attention(const AttentionSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const T* qkv = operand<T>(in, 0);
    T* probs = operand<T>(out, 1);
    for_each_head(spec, [&](const Head& h) {
      for (std::int64_t i = 0; i < spec.t; ++i) {
        attend_row(h, i, qkv, probs);
        for (std::int64_t d = 0; d < h.width(); ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < h.visible(i); ++j) {
            sum += static_cast<double>(probs[h.probs(i, j)]) * qkv[h.qkv(j, value, d)];
          }
          operand<T>(out, 0)[h.result(i, d)] = static_cast<T>(sum);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_attention_grad(const AttentionSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const T* dy = operand<T>(in, 0);
    const T* qkv = operand<T>(in, 1);
    const T* probs = operand<T>(in, 2);
    T* dqkv = operand<T>(out, 0);
    std::fill_n(dqkv, spec.n * spec.t * 3 * spec.c, T{0});
    for_each_head(spec, [&](const Head& h) {
      for (std::int64_t i = 0; i < spec.t; ++i) {
        for (std::int64_t j = 0; j < h.visible(i); ++j) {
          const double dscore = h.scale() * score_gradient(h, i, j, dy, qkv, probs);
          for (std::int64_t d = 0; d < h.width(); ++d) {
            dqkv[h.qkv(i, query, d)] += static_cast<T>(dscore * qkv[h.qkv(j, key, d)]);
            dqkv[h.qkv(j, key, d)] += static_cast<T>(dscore * qkv[h.qkv(i, query, d)]);
            dqkv[h.qkv(j, value, d)] +=
                static_cast<T>(static_cast<double>(probs[h.probs(i, j)]) * dy[h.result(i, d)]);
          }
        }
      }
    });
  });
}

}  // namespace hocket::reference
