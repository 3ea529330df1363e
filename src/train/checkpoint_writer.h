#pragma once

#include <filesystem>
#include <string_view>

#include "train/checkpoint_manifest.h"
#include "train/file_system.h"

namespace hocket {

// Writes the parts of a checkpoint that this rank has into files of its own in `folder`, synced: of a run of
// one worker model.safetensors and optimizer.safetensors, else model-RRRRR.safetensors and
// optimizer-RRRRR.safetensors where the rank has something for them. Returns what the manifest says of them.
Manifest write_parts(const Checkpoint& checkpoint, const std::filesystem::path& folder, int rank, int ranks,
                     FileSystem& files);

constexpr std::string_view kManifestFile = "manifest.json";
void write_manifest(const Manifest& manifest, const std::filesystem::path& folder, FileSystem& files);

}  // namespace hocket
