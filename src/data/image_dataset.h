#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace hocket {

// Per channel, of pixels scaled to [0, 1].
struct Normalisation {
  std::vector<float> mean;
  std::vector<float> deviation;
};

// Images in memory as u8 [N,C,H,W] (or f32, taken as they are) with one class each.
struct ImageArray {
  Tensor pixels;
  std::vector<std::int32_t> labels;
  std::int64_t classes = 0;
};

// Measures mean and deviation over all images; a channel without variation gets deviation 1.
Normalisation measure_normalisation(const Tensor& pixels);

// dst = (src / 255 - mean) / deviation, for one image of channels × `plane` pixels.
void normalise(const std::uint8_t* src, float* dst, std::size_t plane, const Normalisation& normalisation);

// Images of one size, kept as they are in the file and normalised to f32 by gather(). Fields: "image",
// "label".
class ImageDataset final : public Dataset {
 public:
  ImageDataset(std::string name, ImageArray images, Normalisation normalisation);
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  DataInfo info_;
  ImageArray images_;
  Normalisation normalisation_;
};

}  // namespace hocket
