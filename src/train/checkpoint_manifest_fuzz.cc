#include "base/error.h"
#include "train/checkpoint_manifest.h"

// Any bytes are either refused with a DataError or are exactly what the manifest they give is written as.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> text(reinterpret_cast<const std::byte*>(data), size);
  try {
    const hocket::Manifest manifest = hocket::parse_manifest(text, "input");
    const std::string again = hocket::render_manifest(manifest);
    HOCKET_CHECK(again == std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const hocket::DataError&) {
  }
  return 0;
}
