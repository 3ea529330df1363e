#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "data/cifar.h"

// A batch of CIFAR-10: parsed, or refused with a DataError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> pixels;
  try {
    hocket::parse_cifar("fuzz", {reinterpret_cast<const std::byte*>(data), size}, labels, pixels);
    HOCKET_CHECK(pixels.size() == labels.size() * 3072, "{} labels, {} pixels", labels.size(), pixels.size());
  } catch (const hocket::DataError&) {
  }
  return 0;
}
