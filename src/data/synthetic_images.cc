#include "data/synthetic_images.h"

#include "data/noise.h"

namespace hocket {
namespace {

constexpr std::int64_t kCells = 7;  // A pattern is this many cells high and wide, whatever the image.

}  // namespace

SyntheticImages::SyntheticImages(std::string name, const SyntheticImageOptions& options) : options_(options) {
  const Shape& shape = options.shape;
  info_.name = std::move(name);
  info_.classes = options.classes;
  info_.size = options.size;
  info_.fields = {{"image", DType::f32, shape}, {"label", DType::i32, {}}};
  info_.mean.assign(static_cast<std::size_t>(shape[0]), 0.5F);
  info_.deviation.assign(static_cast<std::size_t>(shape[0]),
                         1.0F / 14);  // Pattern and noise together stay within 7.
  patterns_.resize(static_cast<std::size_t>(options.classes * shape[0] * kCells * kCells));
  Rng rng{options.seed, 0x7061747465726eULL};
  for (float& cell : patterns_) cell = noise_of(rng.next());
  info_.bytes = static_cast<std::int64_t>(patterns_.size() * sizeof(float));
}

void SyntheticImages::gather(std::span<const std::int64_t> indices, std::int64_t,
                             std::span<const Tensor> out) const {
  const std::int64_t pixels = options_.shape.count();
  float* images = out[0].values<float>().data();
  std::int32_t* labels = out[1].values<std::int32_t>().data();
  for (const std::int64_t index : indices) {
    Rng rng{options_.seed, options_.part, static_cast<std::uint64_t>(index)};
    *labels = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(options_.classes)));
    draw(index, *labels, images);
    images += pixels;
    ++labels;
  }
  for (const Tensor& tensor : out) zero_rows_from(tensor, static_cast<std::int64_t>(indices.size()));
}

// The class's pattern, cell by cell, plus noise of the same strength.
void SyntheticImages::draw(std::int64_t index, std::int64_t label, float* pixels) const {
  const Shape& shape = options_.shape;
  const std::uint64_t stream = Rng{options_.seed, options_.part, static_cast<std::uint64_t>(index), 1}.next();
  const float* pattern = patterns_.data() + label * shape[0] * kCells * kCells;
  std::uint64_t counter = 0;
  for (std::int64_t c = 0; c < shape[0]; ++c) {
    for (std::int64_t y = 0; y < shape[1]; ++y) {
      const float* row = pattern + (c * kCells + y * kCells / shape[1]) * kCells;
      for (std::int64_t x = 0; x < shape[2]; ++x) {
        *pixels++ = row[x * kCells / shape[2]] + noise_of(mix_bits(stream + counter++));
      }
    }
  }
}

}  // namespace hocket
