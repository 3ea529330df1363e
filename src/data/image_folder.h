#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/image_dataset.h"
#include "data/source.h"

namespace hocket {

struct ImageFile {
  std::filesystem::path path;
  std::int32_t label = 0;
};

// PNG and JPEG files, decoded whenever they are gathered, so that a set may be larger than memory.
// Fields: "image", "label". A file of another size than `shape` is fitted where `resize` says so, else it is
// bad.
class ImageFolder final : public Dataset {
 public:
  ImageFolder(std::string name, std::vector<ImageFile> files, std::vector<std::string> class_names,
              const Shape& shape, bool resize, Normalisation normalisation);
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  DataInfo info_;
  std::vector<ImageFile> files_;
  bool resize_;
  Normalisation normalisation_;
};

// A folder with one folder of images per class, in the order of their names; or such folders as its `train`
// and `test` (or `val`). Mean and deviation are measured on up to 256 training images. Options: size (S or
// HxW: images are cut and scaled to it; else all must have the size of the first), channels (1, 3; as the
// first image).
DataParts open_image_folder(const DataSource& source);

}  // namespace hocket
