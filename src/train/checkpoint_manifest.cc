#include "train/checkpoint_manifest.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "train/hash.h"

namespace hocket {
namespace {

using nlohmann::json;

std::vector<std::int64_t> list_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

json to_json(const PartRecord& record) {
  const TensorPart& part = record.part;
  return {{"tensor", part.name}, {"dtype", name_of(part.dtype)}, {"shape", list_of(part.global)},
          {"begin", part.begin}, {"box", list_of(part.shape)},   {"first", part.first},
          {"count", part.count}, {"file", record.file}};
}

json to_json(const Manifest& manifest) {
  const Checkpoint& checkpoint = manifest.checkpoint;
  json files = json::array();
  for (const FileRecord& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", file.hash}});
  }
  json value{
      {"format", "hocket checkpoint"},   {"version", manifest.version},     {"model", checkpoint.model},
      {"settings", checkpoint.settings}, {"seed", checkpoint.seed},         {"step", checkpoint.step},
      {"epoch", checkpoint.epoch},       {"position", checkpoint.position}, {"files", std::move(files)}};
  if (manifest.version == Manifest::kWholeTensors) return value;
  json& parts = value["parts"] = json::array();
  for (const PartRecord& part : manifest.parts) parts.push_back(to_json(part));
  return value;
}

Shape shape_from(const json& value, std::string_view tensor) {
  const auto dims = value.get<std::vector<std::int64_t>>();
  if (dims.size() > Shape::kMaxRank) {
    throw DataError("tensor {} has {} dimensions; at most {} are possible", tensor, dims.size(),
                    Shape::kMaxRank);
  }
  return Shape(dims);
}

PartRecord part_from(const json& value) {
  PartRecord record;
  TensorPart& part = record.part;
  value.at("tensor").get_to(part.name);
  const auto dtype = find_dtype(value.at("dtype").get_ref<const std::string&>());
  if (!dtype) throw DataError("tensor {} has an unknown dtype", part.name);
  part.dtype = *dtype;
  part.global = shape_from(value.at("shape"), part.name);
  value.at("begin").get_to(part.begin);
  part.shape = shape_from(value.at("box"), part.name);
  value.at("first").get_to(part.first);
  value.at("count").get_to(part.count);
  value.at("file").get_to(record.file);
  if (const auto flaw = find_flaw(part)) throw DataError("tensor {}: {}", part.name, *flaw);
  return record;
}

Manifest from_json(const json& value) {
  Manifest manifest;
  Checkpoint& checkpoint = manifest.checkpoint;
  value.at("version").get_to(manifest.version);
  value.at("model").get_to(checkpoint.model);
  value.at("settings").get_to(checkpoint.settings);
  value.at("seed").get_to(checkpoint.seed);
  value.at("step").get_to(checkpoint.step);
  value.at("epoch").get_to(checkpoint.epoch);
  value.at("position").get_to(checkpoint.position);
  for (const json& file : value.at("files")) {
    manifest.files.push_back({file.at("name"), file.at("bytes"), file.at("xxh3_128")});
  }
  if (manifest.version == Manifest::kWholeTensors) return manifest;
  for (const json& part : value.at("parts")) manifest.parts.push_back(part_from(part));
  return manifest;
}

// A file is named once, and lies in the checkpoint's own folder.
void require_sound_files(const Manifest& manifest) {
  std::set<std::string_view> names;
  for (const FileRecord& file : manifest.files) {
    const bool is_plain = !file.name.empty() && file.name.front() != '.' &&
                          file.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
    if (!is_plain) throw DataError("{} cannot be a file of a checkpoint", json(file.name).dump());
    if (!names.insert(file.name).second) throw DataError("file {} is listed twice", file.name);
  }
  for (const auto& [part, file] : manifest.parts) {
    if (!names.contains(file)) throw DataError("tensor {} is in {}, which is not listed", part.name, file);
  }
}

}  // namespace

std::string render_manifest(const Manifest& manifest) {
  try {
    json value = to_json(manifest);
    const std::string body = value.dump();
    value["checksum"] = hash_bytes(std::as_bytes(std::span(body)));
    return value.dump(2) + '\n';
  } catch (const json::exception&) {
    throw Error("cannot write a checkpoint's manifest: a name or setting is not UTF-8");
  }
}

Manifest parse_manifest(std::span<const std::byte> text, std::string_view file_name) {
  const std::string_view view(reinterpret_cast<const char*>(text.data()), text.size());
  Manifest manifest;
  try {
    const json value = json::parse(view.begin(), view.end());
    const json& version = value.at("version");
    if (version != Manifest::kVersion && version != Manifest::kWholeTensors) {
      throw DataError("the checkpoint has version {}; expected {} or {}", version.dump(),
                      Manifest::kWholeTensors, Manifest::kVersion);
    }
    manifest = from_json(value);
    require_sound_files(manifest);
  } catch (const DataError& error) {
    throw DataError("{}: {}", file_name, error.what());
  } catch (const json::exception&) {
    throw DataError("{}: not the manifest of a checkpoint, or a damaged one", file_name);
  }
  // One text for one manifest: whatever byte is wrong, the text that the values give again is another one.
  if (render_manifest(manifest) != view) {
    throw DataError("{}: the manifest does not match its checksum; it is damaged", file_name);
  }
  return manifest;
}

}  // namespace hocket
