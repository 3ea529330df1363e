#include "train/checkpoint_manifest.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/hash.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

json to_json(const Manifest& manifest) {
  const Checkpoint& checkpoint = manifest.checkpoint;
  json files = json::array();
  for (const FileRecord& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"xxh3_128", file.hash}});
  }
  return {{"format", "hocket checkpoint"}, {"version", kVersion},
          {"model", checkpoint.model},     {"settings", checkpoint.settings},
          {"seed", checkpoint.seed},       {"step", checkpoint.step},
          {"epoch", checkpoint.epoch},     {"position", checkpoint.position},
          {"files", std::move(files)}};
}

Manifest from_json(const json& value) {
  Manifest manifest;
  Checkpoint& checkpoint = manifest.checkpoint;
  value.at("model").get_to(checkpoint.model);
  value.at("settings").get_to(checkpoint.settings);
  value.at("seed").get_to(checkpoint.seed);
  value.at("step").get_to(checkpoint.step);
  value.at("epoch").get_to(checkpoint.epoch);
  value.at("position").get_to(checkpoint.position);
  for (const json& file : value.at("files")) {
    manifest.files.push_back({file.at("name"), file.at("bytes"), file.at("xxh3_128")});
  }
  return manifest;
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
    if (version != kVersion) {
      throw DataError("{}: the checkpoint has version {}; expected {}", file_name, version.dump(), kVersion);
    }
    manifest = from_json(value);
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
