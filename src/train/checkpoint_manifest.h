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
  std::string name;  // Without a folder.
  std::uint64_t bytes = 0;
  std::string hash;
  bool operator==(const FileRecord&) const = default;
};

// A part of a tensor: the one that `file` has under the tensor's name.
struct PartRecord {
  TensorPart part;
  std::string file;
  bool operator==(const PartRecord&) const = default;
};

struct Manifest {
  static constexpr int kVersion = 2;
  static constexpr int kWholeTensors = 1;  // The version without parts: each file has whole tensors.

  int version = kVersion;
  Checkpoint checkpoint;  // Without its parts.
  std::vector<FileRecord> files;
  std::vector<PartRecord> parts;
};

// The manifest as JSON, with a checksum of itself. Throws Error where a string is not UTF-8.
std::string render_manifest(const Manifest& manifest);

// Reads what render_manifest() wrote; any other byte is a DataError that names `file_name`, and so is a part
// with a flaw or in a file that is not listed. Whether the parts are all there is not looked at.
Manifest parse_manifest(std::span<const std::byte> text, std::string_view file_name);

}  // namespace hocket
