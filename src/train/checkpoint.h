#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "train/file_system.h"
#include "train/named_tensor.h"

namespace hocket {

// All that a run needs to go on as if it had never stopped. Tensors are named "param/NAME", "buffer/NAME" and
// "optimizer/SLOT/NAME"; random numbers need only the seed, as they are functions of (seed, step, …). A value
// type.
struct Checkpoint {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> settings;
  std::string model;  // Fingerprint of the model's text.
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // Samples of the epoch already used.
};

struct ParameterSpec {
  std::string name;  // Without "param/".
  DType dtype = DType::f32;
  Shape shape;
};

// Throws ConfigError with the first difference where the checkpoint's parameters are not exactly `expected`.
void require_same_parameters(const Checkpoint& checkpoint, std::span<const ParameterSpec> expected);

// Reads one checkpoint, a directory step-NNNNNNNN, and checks every byte of it. Throws DataError where it is
// torn.
Checkpoint load_checkpoint(const std::filesystem::path& directory, FileSystem& files = posix_file_system());

struct CheckpointOptions {
  int keep = 2;  // The newest so many are kept; at least 2.
  // Receives one line for each checkpoint that is skipped or cannot be removed.
  std::function<void(const std::string&)> warn = {};
};

// The checkpoints of a run, step-NNNNNNNN/{model.safetensors, optimizer.safetensors, manifest.json}. Exactly
// one store writes to a directory at a time; others may load. A save is durable when it returns; when it
// throws Error (disk full, read-only, …) no earlier checkpoint has changed. Used by one thread.
class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path directory, CheckpointOptions options = {},
                           FileSystem& files = posix_file_system());

  // Writes the tensors' own storage, uncopied: it must not change meanwhile. Then removes what is no longer
  // kept.
  void save(const Checkpoint& checkpoint);

  // The newest checkpoint that is whole. A torn one is skipped with a warning, and removed by the next save.
  std::optional<Checkpoint> load_newest();

  std::vector<std::filesystem::path> list() const;  // By step, oldest first.

 private:
  void write(const Checkpoint& checkpoint, const std::filesystem::path& target) const;
  void remove_temporaries() const;
  void remove_old(const std::filesystem::path& newest);
  void warn(const std::string& line) const;

  std::filesystem::path directory_;
  CheckpointOptions options_;
  FileSystem& files_;
  std::set<std::filesystem::path> torn_;
};

}  // namespace hocket
