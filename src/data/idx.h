#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace hocket {

// An array in the IDX format of the MNIST files: two zero bytes, a type, a rank, big-endian dimensions, then
// the elements. A view: the bytes must outlive it. Of the format's types u8 and f32 (big-endian) are read.
struct IdxArray {
  DType dtype = DType::u8;
  Shape shape;
  std::span<const std::byte> elements;
};

// Reads the array that `bytes` holds; `name` is for messages. Throws DataError where the bytes are not
// exactly one.
IdxArray parse_idx(std::string_view name, std::span<const std::byte> bytes);

}  // namespace hocket
