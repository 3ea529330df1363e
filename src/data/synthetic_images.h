#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace hocket {

struct SyntheticImageOptions {
  Shape shape;  // [C,H,W]
  std::int64_t classes = 10;
  std::int64_t size = 0;
  std::uint64_t seed = 0;
  std::uint64_t part = 0;  // Parts share the classes' patterns, not the samples.
};

// Images made when they are gathered: nothing is stored but one coarse pattern per class. Fields: "image",
// "label".
class SyntheticImages final : public Dataset {
 public:
  SyntheticImages(std::string name, const SyntheticImageOptions& options);
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  void draw(std::int64_t index, std::int64_t label, float* pixels) const;

  DataInfo info_;
  SyntheticImageOptions options_;
  std::vector<float> patterns_;  // [classes, C, kCells, kCells]
};

}  // namespace hocket
