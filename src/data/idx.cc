#include "data/idx.h"

#include <array>

#include "base/error.h"

namespace hocket {
namespace {

constexpr int kU8 = 0x08;
constexpr int kF32 = 0x0d;
constexpr std::size_t kMaxElements = std::size_t{1} << 40;

int byte_at(std::span<const std::byte> bytes, std::size_t at) { return std::to_integer<int>(bytes[at]); }

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

}  // namespace

IdxArray parse_idx(std::string_view name, std::span<const std::byte> bytes) {
  if (bytes.size() < 4)
    throw DataError("{}: byte 0: expected the 4 bytes of an IDX header, found {}", name, bytes.size());
  if (byte_at(bytes, 0) != 0 || byte_at(bytes, 1) != 0) {
    throw DataError("{}: byte 0: expected the IDX magic 0x0000, found 0x{:02x}{:02x}", name,
                    byte_at(bytes, 0), byte_at(bytes, 1));
  }
  const int type = byte_at(bytes, 2);
  if (type != kU8 && type != kF32) {
    throw DataError("{}: byte 2: expected IDX type 0x08 (u8) or 0x0d (f32), found 0x{:02x}", name, type);
  }
  const int rank = byte_at(bytes, 3);
  if (rank < 1 || rank > 4) throw DataError("{}: byte 3: expected 1 to 4 dimensions, found {}", name, rank);
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(rank);
  if (bytes.size() < header) {
    throw DataError("{}: byte {}: expected {} dimensions, found the end of the file", name, bytes.size(),
                    rank);
  }

  std::array<std::int64_t, 4> dims{};
  std::size_t elements = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
    const std::uint32_t dim = big_endian(bytes, 4 + 4 * i);
    if (dim != 0 && elements > kMaxElements / dim) {
      throw DataError("{}: byte {}: dimension {} of {} makes the array too large", name, 4 + 4 * i, i, dim);
    }
    elements *= dim;
    dims[i] = dim;
  }
  const DType dtype = type == kU8 ? DType::u8 : DType::f32;
  const Shape shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(rank)));
  if (bytes.size() - header != elements * size_of(dtype)) {
    throw DataError("{}: byte {}: expected {} bytes of {} {}, found {}", name, header,
                    elements * size_of(dtype), name_of(dtype), to_string(shape), bytes.size() - header);
  }
  return {dtype, shape, bytes.subspan(header)};
}

}  // namespace hocket
