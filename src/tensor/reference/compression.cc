// Error feedback (Seide et al. 2014, Stich et al. 2018): what a payload leaves out stays in the residual and
// is added to the next vector, so that over many steps everything is sent.
#include "tensor/reference/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "base/error.h"
#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

// Payloads of several ranks lie one behind the other: their fields need not be aligned.
template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <typename T>
void encode_bf16(const CompressionSpec& s, T* e, std::byte* payload) {
  for (std::int64_t i = 0; i < s.count; ++i) {
    const BFloat16 sent(static_cast<float>(e[i]));
    store(payload + 2 * i, sent);
    e[i] -= static_cast<T>(static_cast<float>(sent));
  }
}

template <typename T>
void add_bf16(const CompressionSpec& s, const std::byte* payload, T* sum) {
  for (std::int64_t i = 0; i < s.count; ++i)
    sum[i] += static_cast<T>(static_cast<float>(load<BFloat16>(payload + 2 * i)));
}

// NaN for a block that has an element which is not finite: so the receiver learns of it.
template <typename T>
float scale_of(const T* e, std::int64_t count) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(e[i])) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(e[i]));
  }
  return static_cast<float>(largest) / 127;
}

template <typename T>
std::int8_t multiple(T value, float scale) {
  if (!(scale > 0)) return 0;
  return static_cast<std::int8_t>(std::nearbyint(std::clamp<T>(value / static_cast<T>(scale), -127, 127)));
}

template <typename T>
void encode_int8(const CompressionSpec& s, T* e, std::byte* payload) {
  std::byte* values = payload + 4 * s.blocks();
  for (std::int64_t b = 0; b < s.blocks(); ++b) {
    const std::int64_t begin = b * kScaledBlock, end = std::min(begin + kScaledBlock, s.count);
    const float scale = scale_of(e + begin, end - begin);
    store(payload + 4 * b, scale);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int8_t sent = multiple(e[i], scale);
      store(values + i, sent);
      e[i] -= static_cast<T>(sent) * static_cast<T>(scale);
    }
  }
}

template <typename T>
void add_int8(const CompressionSpec& s, const std::byte* payload, T* sum) {
  const std::byte* values = payload + 4 * s.blocks();
  for (std::int64_t i = 0; i < s.count; ++i) {
    const float scale = load<float>(payload + 4 * (i / kScaledBlock));
    sum[i] += static_cast<T>(load<std::int8_t>(values + i)) * static_cast<T>(scale);
  }
}

// The bits of a magnitude order as the magnitudes do, NaN above all. Of equals the lower index is the larger.
std::uint64_t rank_of(float value, std::int64_t index) {
  const auto magnitude = std::uint64_t{std::bit_cast<std::uint32_t>(std::fabs(value))};
  return magnitude << 32 | (0xFFFFFFFFU - static_cast<std::uint64_t>(index));
}

template <typename T>
void encode_topk(const CompressionSpec& s, T* e, std::byte* payload, std::byte* scratch) {
  auto* keys = reinterpret_cast<std::uint64_t*>(scratch);
  for (std::int64_t i = 0; i < s.count; ++i) keys[i] = rank_of(static_cast<float>(e[i]), i);
  std::nth_element(keys, keys + s.kept - 1, keys + s.count, std::greater<>());
  const auto index_of = [](std::uint64_t key) {
    return static_cast<std::int32_t>(0xFFFFFFFFU - (key & 0xFFFFFFFFU));
  };
  std::sort(keys, keys + s.kept, [&](std::uint64_t a, std::uint64_t b) { return index_of(a) < index_of(b); });
  for (std::int64_t j = 0; j < s.kept; ++j) {
    const std::int32_t index = index_of(keys[j]);
    const auto sent = static_cast<float>(e[index]);
    store(payload + 8 * j, index);
    store(payload + 8 * j + 4, sent);
    e[index] -= static_cast<T>(sent);
  }
}

template <typename T>
void add_topk(const CompressionSpec& s, const std::byte* payload, T* sum) {
  for (std::int64_t j = 0; j < s.kept; ++j) {
    const auto index = load<std::int32_t>(payload + 8 * j);
    if (index < 0 || index >= s.count)
      throw Error("a payload has element {} of a vector of {}: it is not one of this job's", index, s.count);
    sum[index] += static_cast<T>(load<float>(payload + 8 * j + 4));
  }
}

class Encode final : public Kernel {
 public:
  explicit Encode(const CompressionSpec& spec) : spec_(spec) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    if (spec_.dtype == DType::f64) {
      encode(operand<double>(in, 0), operand<double>(in, 1), out[0], scratch);
    } else {
      encode(operand<float>(in, 0), operand<float>(in, 1), out[0], scratch);
    }
  }

  std::size_t scratch_bytes() const override {
    return spec_.kind == CompressionKind::topk ? static_cast<std::size_t>(spec_.count) * sizeof(std::uint64_t)
                                               : 0;
  }

 private:
  template <typename T>
  void encode(const T* vector, T* residual, std::byte* payload, std::byte* scratch) const {
    for (std::int64_t i = 0; i < spec_.count; ++i) residual[i] += vector[i];
    switch (spec_.kind) {
      case CompressionKind::bf16: return encode_bf16(spec_, residual, payload);
      case CompressionKind::int8: return encode_int8(spec_, residual, payload);
      case CompressionKind::topk: return encode_topk(spec_, residual, payload, scratch);
    }
  }

  CompressionSpec spec_;
};

template <typename T>
void decode(const CompressionSpec& s, const std::byte* payloads, T* vector) {
  std::fill_n(vector, s.count, T{0});
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    const std::byte* payload = payloads + rank * s.payload_bytes();
    switch (s.kind) {
      case CompressionKind::bf16: add_bf16(s, payload, vector); break;
      case CompressionKind::int8: add_int8(s, payload, vector); break;
      case CompressionKind::topk: add_topk(s, payload, vector); break;
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_encode(const CompressionSpec& spec) { return std::make_unique<Encode>(spec); }

std::unique_ptr<Kernel> make_decode(const CompressionSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    decode(spec, in[0], operand<T>(out, 0));
  });
}

}  // namespace hocket::reference
