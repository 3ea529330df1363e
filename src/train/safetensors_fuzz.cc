#include <cstring>

#include "base/error.h"
#include "train/hash.h"
#include "train/safetensors.h"

// Any bytes are either refused with a DataError or give tensors whose every byte can be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hocket::Arena block(size);
  if (size > 0) std::memcpy(block.data(), data, size);
  try {
    hocket::parameter_hash(hocket::parse_safetensors(std::move(block), "input").tensors);
  } catch (const hocket::DataError&) {
  }
  return 0;
}
