// A checkpoint is written under a temporary name, every file synced, and gets its own name only by the last
// rename; the directory above is synced before anything older goes. So at every moment, also after a power
// cut, each name step-NNNNNNNN is a whole checkpoint; damage that comes later is found by the checksums in
// its manifest.

#include "train/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "train/checkpoint_manifest.h"
#include "train/hash.h"
#include "train/safetensors.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kTemporaryPrefix = ".tmp-";
constexpr std::string_view kManifestFile = "manifest.json";
constexpr std::string_view kParameterPrefix = "param/";
constexpr std::string_view kOptimizerPrefix = "optimizer/";

// Each file with the tensors it holds.
constexpr std::pair<std::string_view, bool> kTensorFiles[] = {{"model.safetensors", false},
                                                              {"optimizer.safetensors", true}};

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

std::optional<std::int64_t> find_step(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  constexpr std::size_t kMostDigits = 18;
  if (name.empty() || name.size() > kMostDigits) return std::nullopt;
  std::int64_t step = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return std::nullopt;
    step = step * 10 + (c - '0');
  }
  return step;
}

Safetensors load_tensors(const fs::path& path, const FileRecord& record, FileSystem& files) {
  Arena block = files.read(path);
  if (block.size() != record.bytes) {
    throw DataError("{}: the file has {} bytes; the manifest says {}", path.string(), block.size(),
                    record.bytes);
  }
  const std::string hash = hash_bytes(block.bytes());
  if (hash != record.hash) {
    throw DataError("{}: the contents are damaged: checksum {}; the manifest says {}", path.string(), hash,
                    record.hash);
  }
  return parse_safetensors(std::move(block), path.string());
}

std::string describe(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", name_of(dtype), to_string(shape));
}

}  // namespace

void require_same_parameters(const Checkpoint& checkpoint, std::span<const ParameterSpec> expected) {
  std::map<std::string_view, const Tensor*> found;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.starts_with(kParameterPrefix))
      found[std::string_view(name).substr(kParameterPrefix.size())] = &tensor;
  }
  for (const ParameterSpec& parameter : expected) {
    const auto it = found.find(parameter.name);
    if (it == found.end()) {
      throw ConfigError("the checkpoint is of another model: it lacks parameter {} ({})", parameter.name,
                        describe(parameter.dtype, parameter.shape));
    }
    const Tensor& tensor = *it->second;
    if (tensor.dtype() != parameter.dtype || !(tensor.shape() == parameter.shape)) {
      throw ConfigError("the checkpoint is of another model: parameter {} is {} there and {} here",
                        parameter.name, describe(tensor.dtype(), tensor.shape()),
                        describe(parameter.dtype, parameter.shape));
    }
    found.erase(it);
  }
  if (!found.empty()) {
    throw ConfigError("the checkpoint is of another model: it has parameter {}, which the model lacks",
                      found.begin()->first);
  }
}

Checkpoint load_checkpoint(const fs::path& directory, FileSystem& files) {
  const fs::path manifest_path = directory / kManifestFile;
  const Arena text = files.read(manifest_path);
  Manifest manifest = parse_manifest(text.bytes(), manifest_path.string());
  Checkpoint checkpoint = std::move(manifest.checkpoint);
  for (const auto& [name, holds_optimizer] : kTensorFiles) {
    const auto record =
        std::find_if(manifest.files.begin(), manifest.files.end(),
                     [&, wanted = name](const FileRecord& file) { return file.name == wanted; });
    if (record == manifest.files.end()) throw DataError("{}: {} is not listed", manifest_path.string(), name);
    Safetensors loaded = load_tensors(directory / name, *record, files);
    std::move(loaded.tensors.begin(), loaded.tensors.end(), std::back_inserter(checkpoint.tensors));
  }
  return checkpoint;
}

CheckpointStore::CheckpointStore(fs::path directory, CheckpointOptions options, FileSystem& files)
    : directory_(std::move(directory)), options_(std::move(options)), files_(files) {
  if (options_.keep < 2) throw ConfigError("at least 2 checkpoints must be kept, not {}", options_.keep);
}

std::vector<fs::path> CheckpointStore::list() const {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (std::string& name : files_.list(directory_)) {
    if (const auto step = find_step(name)) found.emplace_back(*step, std::move(name));
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (const auto& [step, name] : found) paths.push_back(directory_ / name);
  return paths;
}

std::optional<Checkpoint> CheckpointStore::load_newest() {
  std::vector<fs::path> paths = list();
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    try {
      return load_checkpoint(*path, files_);
    } catch (const DataError& error) {
      torn_.insert(*path);
      warn(fmt::format("checkpoint {} is skipped: {}", path->string(), error.what()));
    }
  }
  return std::nullopt;
}

void CheckpointStore::save(const Checkpoint& checkpoint) {
  const fs::path target = directory_ / fmt::format("{}{:08}", kPrefix, checkpoint.step);
  try {
    files_.create_directories(directory_);
    remove_temporaries();
    write(checkpoint, target);
  } catch (const Error& error) {
    throw Error("checkpoint {} is not saved: {}; earlier ones are untouched", target.string(), error.what());
  }
  torn_.erase(target);
  remove_old(target);
}

void CheckpointStore::write(const Checkpoint& checkpoint, const fs::path& target) const {
  const fs::path temporary = directory_ / fmt::format("{}{}", kTemporaryPrefix, target.filename().string());
  try {
    files_.create_directories(temporary);
    Manifest manifest{.checkpoint = checkpoint, .files = {}};
    manifest.checkpoint.tensors.clear();
    for (const auto& [name, holds_optimizer] : kTensorFiles) {
      std::vector<NamedTensor> tensors;
      for (const NamedTensor& tensor : checkpoint.tensors) {
        if (tensor.first.starts_with(kOptimizerPrefix) == holds_optimizer) tensors.push_back(tensor);
      }
      HashingWriter writer(files_.create(temporary / name));
      write_safetensors(tensors, {}, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
      manifest.files.push_back(writer.finish(name));
    }
    const std::string text = render_manifest(manifest);
    HashingWriter writer(files_.create(temporary / kManifestFile));
    writer.write(std::as_bytes(std::span(text)));
    writer.finish(kManifestFile);
    files_.sync_directory(temporary);
    const std::vector<fs::path> present = list();
    const bool replaces = std::find(present.begin(), present.end(), target) != present.end();
    replaces ? files_.exchange(temporary, target) : files_.rename(temporary, target);
  } catch (...) {
    try_remove_all(files_, temporary);
    throw;
  }
  files_.sync_directory(directory_);
}

void CheckpointStore::remove_temporaries() const {
  for (const std::string& name : files_.list(directory_)) {
    if (name.starts_with(kTemporaryPrefix)) files_.remove_all(directory_ / name);
  }
}

// The new checkpoint is durable, so from here on nothing can make the save fail. Each one gets a temporary
// name first: a removal that stops half-way leaves no torn checkpoint behind.
void CheckpointStore::remove_old(const fs::path& newest) {
  try {
    std::vector<fs::path> whole;
    std::vector<fs::path> unwanted;
    for (fs::path& path : list()) (torn_.contains(path) ? unwanted : whole).push_back(std::move(path));
    const std::size_t surplus =
        whole.size() - std::min(whole.size(), static_cast<std::size_t>(options_.keep));
    std::copy_if(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(surplus),
                 std::back_inserter(unwanted), [&](const fs::path& path) { return path != newest; });
    for (const fs::path& path : unwanted) {
      files_.rename(path, directory_ / fmt::format("{}{}", kTemporaryPrefix, path.filename().string()));
      torn_.erase(path);
    }
    remove_temporaries();
  } catch (const Error& error) {
    warn(fmt::format("an old checkpoint stays: {}", error.what()));
  }
}

void CheckpointStore::warn(const std::string& line) const {
  if (options_.warn) options_.warn(line);
}

}  // namespace hocket
