#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace hocket {

// Ways to send a vector of gradients in fewer bytes.
enum class CompressionKind : std::uint8_t {
  bf16,  // Every element, rounded to nearest, ties to even.
  int8,  // For each block the f32 scale (largest magnitude / 127), then every element as a multiple of it.
  topk,  // The `kept` largest magnitudes as pairs of an i32 index and an f32 value, by index.
};

inline constexpr std::int64_t kScaledBlock = 1024;  // Elements that share a scale.

// What encode and decode are prepared for; see docs/OPERATORS.md.
struct CompressionSpec {
  CompressionKind kind = CompressionKind::bf16;
  std::int64_t count = 0;  // Elements of the vector.
  std::int64_t kept = 0;   // Of topk.
  std::int64_t ranks = 1;  // Payloads to decode.
  DType dtype = DType::f32;

  std::int64_t blocks() const { return (count + kScaledBlock - 1) / kScaledBlock; }

  // Of one rank.
  std::int64_t payload_bytes() const {
    switch (kind) {
      case CompressionKind::bf16: return 2 * count;
      case CompressionKind::int8: return 4 * blocks() + count;
      case CompressionKind::topk: break;
    }
    return 8 * kept;
  }
};

}  // namespace hocket
