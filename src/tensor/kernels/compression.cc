// The loops are written so that the compiler vectorizes them: no calls, no branches within a block.
#include "tensor/kernels/compression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/threads.h"

namespace hocket::kernel {
namespace {

constexpr std::int64_t kBlockGrain = kElementGrain / kScaledBlock;

// Adding it leaves no bit for a fraction: the sum is rounded to a whole number, ties to even.
constexpr float kRoundingOffset = 1.5F * (1 << 23);

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  return static_cast<std::uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
}

float bf16_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

void encode_bf16(const float* vector, float* residual, std::uint16_t* payload, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float e = residual[i] + vector[i];
    payload[i] = bf16_bits(e);
    residual[i] = e - bf16_value(payload[i]);
  }
}

// Makes `residual` the sum and returns the block's scale: NaN where an element is not finite.
float add_and_scale(const float* vector, float* residual, std::int64_t count) {
  std::int32_t largest = 0;  // The bits of magnitudes order as they do; those that are not finite come last.
  for (std::int64_t i = 0; i < count; ++i) {
    residual[i] += vector[i];
    largest = std::max(largest, std::bit_cast<std::int32_t>(residual[i]) & 0x7FFFFFFF);
  }
  const auto magnitude = std::bit_cast<float>(largest);
  return std::isfinite(magnitude) ? magnitude / 127 : std::numeric_limits<float>::quiet_NaN();
}

void encode_int8(float scale, float* e, std::int8_t* payload, std::int64_t count) {
  if (!(scale > 0)) {  // All are 0, or the block is lost.
    for (std::int64_t i = 0; i < count; ++i) {
      payload[i] = 0;
      e[i] -= 0 * scale;
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const float bounded = std::min(std::max(e[i] / scale, -127.0F), 127.0F);
    const float whole = (bounded + kRoundingOffset) - kRoundingOffset;
    payload[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(whole));
    e[i] -= whole * scale;
  }
}

// Calls body(first element, elements, block) for all blocks, in parallel.
template <typename Body>
void for_blocks(const CompressionSpec& s, const Body& body) {
  parallel_for(s.blocks(), kBlockGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      body(b * kScaledBlock, std::min(kScaledBlock, s.count - b * kScaledBlock), b);
  });
}

void encode(const CompressionSpec& s, const float* vector, float* residual, std::byte* payload) {
  auto* values = reinterpret_cast<std::int8_t*>(payload + 4 * s.blocks());
  for_blocks(s, [&](std::int64_t first, std::int64_t count, std::int64_t block) {
    if (s.kind == CompressionKind::bf16) {
      encode_bf16(vector + first, residual + first, reinterpret_cast<std::uint16_t*>(payload) + first, count);
      return;
    }
    const float scale = add_and_scale(vector + first, residual + first, count);
    std::memcpy(payload + 4 * block, &scale, sizeof scale);
    encode_int8(scale, residual + first, values + first, count);
  });
}

void decode(const CompressionSpec& s, const std::byte* payloads, float* vector) {
  for_blocks(s, [&](std::int64_t first, std::int64_t count, std::int64_t block) {
    float* sum = vector + first;
    std::fill_n(sum, count, 0.0F);
    for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
      const std::byte* payload = payloads + rank * s.payload_bytes();
      if (s.kind == CompressionKind::bf16) {
        const auto* sent = reinterpret_cast<const std::uint16_t*>(payload) + first;
        for (std::int64_t i = 0; i < count; ++i) sum[i] += bf16_value(sent[i]);
        continue;
      }
      float scale = 0;
      std::memcpy(&scale, payload + 4 * block, sizeof scale);
      const auto* sent = reinterpret_cast<const std::int8_t*>(payload + 4 * s.blocks()) + first;
      for (std::int64_t i = 0; i < count; ++i) sum[i] += static_cast<float>(sent[i]) * scale;
    }
  });
}

// Picking the largest elements is serial.
bool is_supported(const CompressionSpec& spec) {
  return spec.dtype == DType::f32 && spec.kind != CompressionKind::topk;
}

}  // namespace

std::unique_ptr<Kernel> make_encode(const CompressionSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_kernel(
      [spec](Buffers in, Buffers out) { encode(spec, operand(in, 0), operand(in, 1), out[0]); });
}

std::unique_ptr<Kernel> make_decode(const CompressionSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) { decode(spec, in[0], operand(out, 0)); });
}

}  // namespace hocket::kernel
