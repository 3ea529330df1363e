#include <cstring>

#include "base/error.h"
#include "train/safetensors.h"

// Any bytes are either refused with a DataError or give tensors whose every byte can be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hocket::Arena block(size);
  if (size > 0) std::memcpy(block.data(), data, size);
  try {
    unsigned sum = 0;
    for (const auto& [name, tensor] : hocket::parse_safetensors(std::move(block), "input").tensors) {
      for (const std::byte byte : tensor.bytes()) sum += std::to_integer<unsigned>(byte);
    }
    static volatile unsigned sink;
    sink = sum;
  } catch (const hocket::DataError&) {
  }
  return 0;
}
