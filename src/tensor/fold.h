#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace hocket {

enum class Fold : unsigned char { sum, product, max, min };

// result[i] = sources[0][i] ∘ sources[1][i] ∘ …, from left to right, rounded to `dtype` after every ∘, and
// stored to every destination. A destination may be one of the sources; other overlaps are not allowed.
// Buffers are aligned to their elements.
void fold(Fold operation, DType dtype, std::span<const std::byte* const> sources,
          std::span<std::byte* const> destinations, std::size_t count);

// into[i] = into[i] ∘ source[i], in that order.
inline void fold_into(Fold operation, DType dtype, std::byte* into, const std::byte* source,
                      std::size_t count) {
  const std::byte* const sources[] = {into, source};
  std::byte* const destinations[] = {into};
  fold(operation, dtype, sources, destinations, count);
}

// values[i] /= divisor; integers round towards zero.
void divide(DType dtype, std::byte* values, std::size_t count, int divisor);

}  // namespace hocket
