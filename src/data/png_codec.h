#pragma once

#include "data/image_codec.h"

namespace hocket {

bool is_png(std::span<const std::byte> bytes);
Image decode_png(std::string_view name, std::span<const std::byte> bytes, int channels);
std::vector<std::byte> encode_png_bytes(const Image& image);

}  // namespace hocket
