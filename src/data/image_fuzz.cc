#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "data/image_codec.h"

// A PNG or JPEG file: decoded to as many pixels as it says, or refused with a DataError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const hocket::Image image =
        hocket::decode_image("fuzz", {reinterpret_cast<const std::byte*>(data), size}, 0);
    const std::size_t pixels = static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width);
    HOCKET_CHECK(image.pixels.size() == pixels * static_cast<std::size_t>(image.channels), "{} x {}",
                 image.height, image.width);
  } catch (const hocket::DataError&) {
  }
  return 0;
}
