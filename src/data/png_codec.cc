#include "data/png_codec.h"

#include <png.h>

#include "base/error.h"

namespace hocket {
namespace {

// A pixel takes at least a bit, and deflate shrinks at most 1032-fold; a file that claims more is cut or
// forged.
constexpr std::int64_t kMaxPngPixelsPerByte = 8 * 1032;

// libpng's structure, freed whatever happens.
struct PngImage {
  png_image image{};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) == 0;
}

Image decode_png(std::string_view name, std::span<const std::byte> bytes, int channels) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png.image, bytes.data(), bytes.size()) == 0) {
    throw DataError("{}: damaged PNG: {}", name, png.image.message);
  }
  const std::int64_t pixels = std::int64_t{png.image.width} * std::int64_t{png.image.height};
  if (pixels > static_cast<std::int64_t>(bytes.size()) * kMaxPngPixelsPerByte) {
    throw DataError("{}: damaged PNG: {} bytes cannot hold {} x {} pixels", name, bytes.size(),
                    png.image.width, png.image.height);
  }
  const bool has_colour = (png.image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  Image image{channels != 0 ? channels : (has_colour ? 3 : 1),
              static_cast<int>(png.image.height),
              static_cast<int>(png.image.width),
              {}};
  png.image.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  image.pixels.resize(static_cast<std::size_t>(pixels) * static_cast<std::size_t>(image.channels));
  const png_color black{0, 0, 0};
  if (png_image_finish_read(&png.image, &black, image.pixels.data(), 0, nullptr) == 0) {
    throw DataError("{}: damaged PNG: {}", name, png.image.message);
  }
  return image;
}

std::vector<std::byte> encode_png_bytes(const Image& image) {
  PngImage png;
  png.image.width = static_cast<png_uint_32>(image.width);
  png.image.height = static_cast<png_uint_32>(image.height);
  png.image.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  std::vector<std::byte> bytes;
  if (png_image_write_to_memory(&png.image, nullptr, &size, 0, image.pixels.data(), 0, nullptr) != 0) {
    bytes.resize(size);
    if (png_image_write_to_memory(&png.image, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) != 0)
      return bytes;
  }
  throw Error("cannot encode a PNG of {} x {}: {}", image.width, image.height, png.image.message);
}

}  // namespace hocket
