#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/placement.h"
#include "train/checkpoint_manifest.h"
#include "train/file_system.h"

namespace hocket {

// One checkpoint on disk, a folder step-NNNNNNNN, however many ranks wrote it. Opening it reads the manifest
// and the headers of all files, and checks that they fit together and have every element once. Immutable.
// Throws DataError, which names the file and the tensor.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::filesystem::path folder, FileSystem& files = posix_file_system());

  const Checkpoint& checkpoint() const { return manifest_.checkpoint; }  // Without its parts.
  std::vector<TensorSpec> tensors() const;
  bool has(const TensorSpec& tensor) const;

  // Compares the contents of this share of the files with their checksums.
  void verify(AxisShare share = {}) const;

  // Reads the elements of a part, and no other, of a tensor that the checkpoint has().
  void read(const TensorPart& part, std::span<std::byte> to) const;

 private:
  struct Stored {
    TensorPart part;
    std::string file;
    std::uint64_t offset = 0;  // In the file.
  };

  void add_parts(const FileRecord& file, const std::map<std::string_view, const TensorPart*>& expected);
  void require_every_element() const;

  std::filesystem::path folder_;
  FileSystem& files_;
  Manifest manifest_;
  std::map<std::string, std::vector<Stored>, std::less<>> stored_;  // By tensor.
};

}  // namespace hocket
