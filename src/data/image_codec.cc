#include "data/image_codec.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/jpeg_codec.h"
#include "data/png_codec.h"

namespace hocket {
namespace {

// The source pixels that make up one new pixel along one axis.
struct Tap {
  int first = 0;
  std::vector<float> weights;
};

// Taps that scale the `span` pixels from `start` on, out of `source`, to `target` pixels.
std::vector<Tap> make_taps(int source, double start, double span, int target) {
  const double scale = span / target;
  const double radius = std::max(1.0, scale);
  std::vector<Tap> taps;
  for (int i = 0; i < target; ++i) {
    const double centre = start + (i + 0.5) * scale - 0.5;
    Tap tap;
    tap.first = std::clamp(static_cast<int>(std::ceil(centre - radius)), 0, source - 1);
    const int last = std::clamp(static_cast<int>(std::floor(centre + radius)), tap.first, source - 1);
    double total = 0;
    for (int k = tap.first; k <= last; ++k) {
      const double weight = std::max(0.0, 1.0 - std::abs(k - centre) / radius) + 1e-9;
      tap.weights.push_back(static_cast<float>(weight));
      total += weight;
    }
    for (float& weight : tap.weights) weight /= static_cast<float>(total);
    taps.push_back(std::move(tap));
  }
  return taps;
}

}  // namespace

Image decode_image(std::string_view name, std::span<const std::byte> bytes, int channels) {
  if (is_png(bytes)) return decode_png(name, bytes, channels);
  if (is_jpeg(bytes)) return decode_jpeg(name, bytes, channels);
  throw DataError("{}: byte 0: expected the first bytes of a PNG or JPEG file, found others", name);
}

std::vector<std::byte> encode_png(const Image& image) { return encode_png_bytes(image); }

Image fit(const Image& image, int height, int width) {
  if (image.height == height && image.width == width) return image;
  const double scale =
      std::min(static_cast<double>(image.height) / height, static_cast<double>(image.width) / width);
  const double tall = scale * height;
  const double wide = scale * width;
  const auto rows = make_taps(image.height, (image.height - tall) / 2, tall, height);
  const auto columns = make_taps(image.width, (image.width - wide) / 2, wide, width);

  Image result{image.channels, height, width, {}};
  result.pixels.resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                       static_cast<std::size_t>(image.channels));
  const auto row_size = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  std::vector<float> line(row_size);  // The rows of one tap, added up.
  std::uint8_t* out = result.pixels.data();
  for (const Tap& row : rows) {
    std::fill(line.begin(), line.end(), 0.0F);
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      const std::uint8_t* src = image.pixels.data() + (static_cast<std::size_t>(row.first) + k) * row_size;
      for (std::size_t i = 0; i < row_size; ++i) line[i] += row.weights[k] * static_cast<float>(src[i]);
    }
    for (const Tap& column : columns) {
      for (int c = 0; c < image.channels; ++c) {
        float sum = 0.5F;
        const float* src = line.data() + column.first * image.channels + c;
        for (std::size_t k = 0; k < column.weights.size(); ++k) {
          sum += column.weights[k] * src[k * static_cast<std::size_t>(image.channels)];
        }
        *out++ = static_cast<std::uint8_t>(std::clamp(sum, 0.0F, 255.0F));
      }
    }
  }
  return result;
}

}  // namespace hocket
