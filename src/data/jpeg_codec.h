#pragma once

#include "data/image_codec.h"

namespace hocket {

bool is_jpeg(std::span<const std::byte> bytes);
Image decode_jpeg(std::string_view name, std::span<const std::byte> bytes, int channels);

}  // namespace hocket
