#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/named_tensor.h"

namespace hocket {

// One tensor of a file: the bytes [begin, end) of the buffer that follows the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The checked header of a safetensors file. `entries` are in the order of the buffer, which they cover
// exactly.
struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;
  std::size_t buffer_offset = 0;
};

// Reads the header of a file of `file_bytes` bytes, of which `start` has at least the header, and trusts
// nothing in it. Throws DataError, which names `file_name`, where bytes are not a safetensors file: bad
// length, JSON, key, dtype, shape or offset, hole or overlap.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                           std::string_view file_name);

// How many bytes the header of such a file has, as its first kSafetensorsLengthBytes say. Throws DataError
// where the file cannot have so many.
constexpr std::size_t kSafetensorsLengthBytes = 8;
std::size_t safetensors_header_bytes(std::span<const std::byte> start, std::uint64_t file_bytes,
                                     std::string_view file_name);

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;  // Views of one block that they keep alive.
};

// The tensors in `block`, a whole file in memory. Throws DataError.
Safetensors parse_safetensors(Arena block, std::string_view file_name);

// Receives the file's bytes in order.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// Streams a safetensors file into `sink`: the header, then each tensor's own bytes, uncopied. The widest
// element types come first, so that every tensor is aligned in the file. Throws Error for names that a reader
// would refuse.
void write_safetensors(std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata, const ByteSink& sink);

}  // namespace hocket
