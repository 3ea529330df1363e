#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"
#include "tensor/compression.h"

namespace hocket {

// How gradients are sent in fewer bytes.
struct Compression {
  CompressionKind kind = CompressionKind::bf16;
  double fraction = 1;  // Of the elements: those that topk sends.

  // As users type it: "bf16", "int8" or "topk=0.01"; nothing for "" and "none". Throws ConfigError.
  static std::optional<Compression> parse(std::string_view text);

  // For a vector of so many elements, of this dtype.
  CompressionSpec spec(std::int64_t count, DType dtype) const;
};

std::string_view name_of(CompressionKind kind);
std::optional<CompressionKind> find_compression(std::string_view name);

// The type of what one rank sends.
Type payload_type(const CompressionSpec& spec);

}  // namespace hocket
