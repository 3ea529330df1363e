#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/checkpoint.h"

namespace hocket {

// What a file of the checkpoint must be.
struct FileRecord {
  std::string name;
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  Checkpoint checkpoint;  // Without its tensors.
  std::vector<FileRecord> files;
};

// The manifest as JSON, with a checksum of itself. Throws Error where a string is not UTF-8.
std::string render_manifest(const Manifest& manifest);

// Reads what render_manifest() wrote; any other byte is a DataError that names `file_name`.
Manifest parse_manifest(std::span<const std::byte> text, std::string_view file_name);

}  // namespace hocket
