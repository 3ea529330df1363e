#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hocket {

// Pixels row by row, the channels of a pixel side by side.
struct Image {
  int channels = 0;  // 1: grey, 3: red, green, blue.
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;
};

// Decodes a PNG or JPEG file that lies in memory, told apart by their first bytes, to `channels` channels (0:
// as the file has; transparency is laid over black). `name` is for messages. Throws DataError.
Image decode_image(std::string_view name, std::span<const std::byte> bytes, int channels);

// Encodes `image` as PNG.
std::vector<std::byte> encode_png(const Image& image);

// The largest centred part of `image` with the proportions of height × width, scaled to that size; every
// pixel that falls into a new one counts (a triangle filter).
Image fit(const Image& image, int height, int width);

}  // namespace hocket
