#include "train/safetensors.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"

namespace hocket {
namespace {

std::string dtype_name(DType dtype) {
  std::string name(name_of(dtype));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string strict_json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("cannot write a safetensors file: a name or value is not UTF-8");
  }
}

std::vector<const NamedTensor*> widest_first(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> sorted;
  std::set<std::string_view> names{"__metadata__"};
  for (const NamedTensor& tensor : tensors) {
    if (!names.insert(tensor.first).second) {
      throw Error("cannot write a safetensors file: the name {} is taken", strict_json_string(tensor.first));
    }
    sorted.push_back(&tensor);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  return sorted;
}

std::string header_text(std::span<const NamedTensor* const> tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    const char* separator = "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      text += separator + strict_json_string(key) + ':' + strict_json_string(value);
      separator = ",";
    }
    text += '}';
  }
  std::size_t begin = 0;
  for (const NamedTensor* named : tensors) {
    const auto& [name, tensor] = *named;
    const std::size_t end = begin + tensor.byte_size();
    if (text.size() > 1) text += ',';
    text += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", strict_json_string(name),
                        dtype_name(tensor.dtype()), to_string(tensor.shape()), begin, end);
    begin = end;
  }
  text += '}';
  constexpr std::size_t length_bytes = kSafetensorsLengthBytes;
  text.resize(align_up(length_bytes + text.size()) - length_bytes, ' ');  // The buffer starts aligned.
  return text;
}

bool is_aligned(const std::byte* data, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) == 0;
}

}  // namespace

Safetensors parse_safetensors(Arena block, std::string_view file_name) {
  SafetensorsHeader header = parse_safetensors_header(block.bytes(), block.size(), file_name);
  const auto owner = std::make_shared<const Arena>(std::move(block));
  Safetensors result{.metadata = std::move(header.metadata), .tensors = {}};
  result.tensors.reserve(header.entries.size());
  for (SafetensorsEntry& entry : header.entries) {
    std::byte* data = owner->data() + header.buffer_offset + entry.begin;
    Tensor tensor(entry.dtype, entry.shape, data, owner);
    if (!is_aligned(data, entry.dtype)) {  // Another writer's file: its tensors may start anywhere.
      tensor = Tensor(entry.dtype, entry.shape);
      std::copy_n(data, tensor.byte_size(), tensor.bytes().data());
    }
    result.tensors.emplace_back(std::move(entry.name), std::move(tensor));
  }
  return result;
}

void write_safetensors(std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata, const ByteSink& sink) {
  const std::vector<const NamedTensor*> sorted = widest_first(tensors);
  const std::string header = header_text(sorted, metadata);
  const std::uint64_t length = header.size();
  sink(std::as_bytes(std::span(&length, 1)));
  sink(std::as_bytes(std::span(header)));
  for (const NamedTensor* tensor : sorted) sink(tensor->second.bytes());
}

}  // namespace hocket
