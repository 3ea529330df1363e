#include "train/checkpoint_writer.h"

#include "base/error.h"
#include "train/hash.h"
#include "train/safetensors.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOptimizerPrefix = "optimizer/";

// Hashes what it writes, and gathers small pieces into one call.
class HashingWriter {
 public:
  explicit HashingWriter(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {
    buffer_.reserve(kBufferBytes);
  }

  void write(std::span<const std::byte> bytes) {
    hasher_.update(bytes);
    bytes_ += bytes.size();
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() > kBufferBytes) {
      file_->write(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }

  FileRecord finish(std::string_view name) {
    flush();
    file_->sync();
    return {std::string(name), bytes_, hasher_.digest()};
  }

 private:
  static constexpr std::size_t kBufferBytes = 256 << 10;

  void flush() {
    if (!buffer_.empty()) file_->write(buffer_);
    buffer_.clear();
  }

  std::unique_ptr<OutputFile> file_;
  std::vector<std::byte> buffer_;
  Hasher hasher_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Manifest write_parts(const Checkpoint& checkpoint, const fs::path& folder, int rank, int ranks,
                     FileSystem& files) {
  Manifest manifest{.checkpoint = checkpoint, .files = {}, .parts = {}};
  manifest.checkpoint.parts.clear();
  for (const std::string_view stem : {"model", "optimizer"}) {
    const std::string name =
        ranks == 1 ? fmt::format("{}.safetensors", stem) : fmt::format("{}-{:05}.safetensors", stem, rank);
    std::vector<NamedTensor> tensors;
    for (const auto& [part, data] : checkpoint.parts) {
      if (part.name.starts_with(kOptimizerPrefix) != (stem == "optimizer")) continue;
      HOCKET_CHECK(data.dtype() == part.dtype && data.shape() == part.own_shape(), "{}", part.name);
      tensors.emplace_back(part.name, data);
      manifest.parts.push_back({part, name});
    }
    if (tensors.empty() && ranks > 1) continue;
    HashingWriter writer(files.create(folder / name));
    write_safetensors(tensors, {}, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
    manifest.files.push_back(writer.finish(name));
  }
  return manifest;
}

void write_manifest(const Manifest& manifest, const fs::path& folder, FileSystem& files) {
  const std::string text = render_manifest(manifest);
  const std::unique_ptr<OutputFile> file = files.create(folder / kManifestFile);
  file->write(std::as_bytes(std::span(text)));
  file->sync();
}

}  // namespace hocket
