#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "train/checkpoint_reader.h"

namespace hocket {

class Team;

struct CheckpointOptions {
  int keep = 2;  // The newest so many are kept; at least 2.
  // Receives one line for each checkpoint that is skipped or cannot be removed.
  std::function<void(const std::string&)> warn = {};
};

// The checkpoints of a run, step-NNNNNNNN/{*.safetensors, manifest.json}, in a folder that all ranks of the
// team see. The ranks save and open them together. Exactly one team writes to a folder at a time; others may
// read. Used by one thread.
class CheckpointStore {
 public:
  // The team must outlive it.
  CheckpointStore(std::filesystem::path folder, Team& team, CheckpointOptions options = {},
                  FileSystem& files = posix_file_system());

  // Each rank writes its parts, uncopied: they must not change meanwhile. Durable when it returns; when it
  // throws Error (disk full, read-only, …) on one rank it throws on all, and no earlier checkpoint has
  // changed. Then removes what is no longer kept.
  void save(const Checkpoint& checkpoint);

  // The newest checkpoint that is whole, the same on all ranks, with every byte checked by one of them. A
  // torn one is skipped with a warning, and removed by the next save. Throws where ranks see different
  // folders.
  std::optional<CheckpointReader> open_newest();

  std::vector<std::filesystem::path> list() const;  // By step, oldest first.

 private:
  void put_in_place(const std::filesystem::path& temporary, const std::filesystem::path& target) const;
  void require_visible(const std::filesystem::path& temporary) const;
  void remove_temporaries() const;
  void remove_old(const std::filesystem::path& newest);
  void warn(const std::string& line) const;

  std::filesystem::path folder_;
  Team& team_;
  CheckpointOptions options_;
  FileSystem& files_;
  std::set<std::filesystem::path> torn_;
};

}  // namespace hocket
