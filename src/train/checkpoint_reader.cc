#include "train/checkpoint_reader.h"

#include <algorithm>

#include "base/error.h"
#include "train/checkpoint_writer.h"
#include "train/hash.h"
#include "train/safetensors.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

SafetensorsHeader read_header(InputFile& file, const std::string& name) {
  std::vector<std::byte> start(std::min<std::uint64_t>(file.size(), kSafetensorsLengthBytes));
  file.read(0, start);
  start.resize(safetensors_header_bytes(start, file.size(), name));
  file.read(0, start);
  return parse_safetensors_header(start, file.size(), name);
}

std::string hash_file(InputFile& file) {
  constexpr std::uint64_t kBlock = 1 << 20;
  std::vector<std::byte> block(std::min(file.size(), kBlock));
  Hasher hasher;
  for (std::uint64_t at = 0; at < file.size(); at += kBlock) {
    const std::span<std::byte> some = std::span(block).first(std::min(kBlock, file.size() - at));
    file.read(at, some);
    hasher.update(some);
  }
  return hasher.digest();
}

}  // namespace

CheckpointReader::CheckpointReader(fs::path folder, FileSystem& files)
    : folder_(std::move(folder)), files_(files) {
  const fs::path path = folder_ / kManifestFile;
  manifest_ = parse_manifest(files_.read(path).bytes(), path.string());
  std::map<std::string_view, std::map<std::string_view, const TensorPart*>> parts;  // By file and tensor.
  for (const auto& [part, file] : manifest_.parts) {
    if (parts[file].emplace(part.name, &part).second) continue;
    throw DataError("{}: tensor {} is twice in {}", path.string(), part.name, file);
  }
  for (const FileRecord& file : manifest_.files) add_parts(file, parts[file.name]);
  require_every_element();
}

// The parts in a file are `expected`, or its whole tensors where the manifest lists no parts.
void CheckpointReader::add_parts(const FileRecord& record,
                                 const std::map<std::string_view, const TensorPart*>& expected) {
  const std::string path = (folder_ / record.name).string();
  const std::unique_ptr<InputFile> file = files_.open(path);
  if (file->size() != record.bytes) {
    throw DataError("{}: the file has {} bytes; the manifest says {}", path, file->size(), record.bytes);
  }
  const SafetensorsHeader header = read_header(*file, path);
  const bool is_listed = manifest_.version != Manifest::kWholeTensors;
  for (const SafetensorsEntry& entry : header.entries) {
    const auto at = expected.find(entry.name);
    if (is_listed && at == expected.end())
      throw DataError("{}: tensor {} is not in the manifest", path, entry.name);
    TensorPart part = is_listed ? *at->second : TensorPart::whole(entry.name, entry.dtype, entry.shape);
    if (entry.dtype != part.dtype || !(entry.shape == part.own_shape())) {
      throw DataError("{}: tensor {} is {} {}; the manifest says {} {}", path, entry.name,
                      name_of(entry.dtype), to_string(entry.shape), name_of(part.dtype),
                      to_string(part.own_shape()));
    }
    stored_[entry.name].push_back({std::move(part), record.name, header.buffer_offset + entry.begin});
  }
  if (is_listed && header.entries.size() != expected.size()) {
    throw DataError("{}: the file has {} tensors; the manifest says {}", path, header.entries.size(),
                    expected.size());
  }
}

void CheckpointReader::require_every_element() const {
  for (const auto& [name, all] : stored_) {
    std::vector<const TensorPart*> parts;
    for (const Stored& stored : all) {
      parts.push_back(&stored.part);
      if (stored.part.dtype == parts.front()->dtype && stored.part.global == parts.front()->global) continue;
      throw DataError("{}: tensor {} is of another kind than in {}", (folder_ / stored.file).string(), name,
                      all.front().file);
    }
    const auto flaw = find_cover_flaw(parts);
    if (!flaw) continue;
    throw DataError("{}: element {} of tensor {} is in {} of its {} parts",
                    (folder_ / kManifestFile).string(), flaw->element, name,
                    flaw->is_twice ? "more than one" : "none", parts.size());
  }
}

std::vector<TensorSpec> CheckpointReader::tensors() const {
  std::vector<TensorSpec> all;
  for (const auto& [name, stored] : stored_) {
    all.push_back({name, stored.front().part.dtype, stored.front().part.global});
  }
  return all;
}

bool CheckpointReader::has(const TensorSpec& tensor) const {
  const auto at = stored_.find(tensor.name);
  if (at == stored_.end()) return false;
  const TensorPart& part = at->second.front().part;
  return part.dtype == tensor.dtype && part.global == tensor.shape;
}

void CheckpointReader::verify(AxisShare share) const {
  const auto step = static_cast<std::size_t>(share.count);
  for (auto i = static_cast<std::size_t>(share.index); i < manifest_.files.size(); i += step) {
    const FileRecord& record = manifest_.files[i];
    const fs::path path = folder_ / record.name;
    const std::string hash = hash_file(*files_.open(path));
    if (hash == record.hash) continue;
    throw DataError("{}: the contents are damaged: checksum {}; the manifest says {}", path.string(), hash,
                    record.hash);
  }
}

void CheckpointReader::read(const TensorPart& part, std::span<std::byte> to) const {
  HOCKET_CHECK(has({part.name, part.dtype, part.global}), "{}", part.name);
  const auto bytes = [&](std::int64_t count) {
    return static_cast<std::size_t>(count) * size_of(part.dtype);
  };
  HOCKET_CHECK(to.size() == bytes(part.count), "{}", part.name);
  for (const Stored& stored : stored_.find(part.name)->second) {
    std::unique_ptr<InputFile> file;
    for_each_shared_run(stored.part, part, [&](std::int64_t from, std::int64_t at, std::int64_t count) {
      if (!file) file = files_.open(folder_ / stored.file);
      file->read(stored.offset + bytes(from), to.subspan(bytes(at), bytes(count)));
    });
  }
}

}  // namespace hocket
