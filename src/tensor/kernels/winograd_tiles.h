#pragma once

#include <array>
#include <cstdint>
#include <span>

// What winograd-inl.h is told, whatever the target.
namespace hocket::kernel {

constexpr int kTile = 4;    // Outputs of a tile, each way,
constexpr int kPoints = 6;  // and the inputs that they need.
constexpr int kPositions = kPoints * kPoints;
constexpr int kTaps = 9;
constexpr std::int64_t kBlock = 32;  // Tiles. A multiple of the rows of a product in registers.
constexpr std::int64_t kPad = 16;  // Floats between planes, lest all positions meet in one set of the cache.

struct WinogradShape {
  std::int64_t n, h, w, c, o, padding;

  std::int64_t oh() const { return h + 2 * padding - 2; }
  std::int64_t ow() const { return w + 2 * padding - 2; }
  std::int64_t rows() const { return (oh() + kTile - 1) / kTile; }  // Of tiles.
  std::int64_t columns() const { return (ow() + kTile - 1) / kTile; }
  std::int64_t image_tiles() const { return rows() * columns(); }
  std::int64_t tiles() const { return n * image_tiles(); }
  std::int64_t image_inputs() const { return h * w * c; }  // Floats.
  std::int64_t image_outputs() const { return oh() * ow() * o; }
};

// The floats from one position to the next, of a block of tiles with so many channels.
constexpr std::int64_t plane(std::int64_t channels) { return kBlock * channels + kPad; }

// Memory that the next block reads or writes: fetched to the second cache while one multiplies, a part at
// each position.
using FloatRanges = std::array<std::span<const float>, 2>;

inline void fetch(const FloatRanges& ranges, int position) {
  constexpr std::size_t kLine = 16;
  for (const std::span<const float> range : ranges) {
    const std::size_t end = range.size() * static_cast<std::size_t>(position + 1) / kPositions;
    for (std::size_t i = range.size() * static_cast<std::size_t>(position) / kPositions; i < end; i += kLine)
      __builtin_prefetch(range.data() + i, 0, 2);
  }
}

struct TilePlace {
  std::int64_t image, y, x;  // Its first output.
};

inline TilePlace place_of(const WinogradShape& s, std::int64_t tile) {
  const std::int64_t columns = s.columns(), at = tile % s.image_tiles();
  return {tile / s.image_tiles(), at / columns * kTile, at % columns * kTile};
}

}  // namespace hocket::kernel
