#include "data/mnist.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/file.h"
#include "data/idx.h"
#include "data/image_dataset.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFashionFolder = "/usr/share/datasets/fashion-mnist";
constexpr float kFashionMean = 0.2860F;
constexpr float kFashionDeviation = 0.3530F;

// "train-images-idx3-ubyte" for part "train" and what "images".
std::string usual_name(std::string_view part, std::string_view what) {
  return fmt::format("{}-{}-idx{}-ubyte", part, what, what == "images" ? 3 : 1);
}

// The file of a part in `folder` under any of the names in use, or nothing.
std::optional<fs::path> find_file(const fs::path& folder, std::string_view part, std::string_view what) {
  std::string with_dot = usual_name(part, what);
  with_dot[part.size() + what.size() + 1] = '.';
  for (const std::string& name : {usual_name(part, what), with_dot}) {
    for (const char* suffix : {"", ".gz"}) {
      if (fs::exists(folder / (name + suffix))) return folder / (name + suffix);
    }
  }
  return std::nullopt;
}

fs::path require_file(const fs::path& folder, std::string_view part, std::string_view what) {
  if (const auto path = find_file(folder, part, what)) return *path;
  const std::string name = usual_name(part, what);
  throw DataError("{}: no file {} or {}.gz in this folder", folder.string(), name, name);
}

// Big-endian floats in native order; every one must be finite.
Tensor read_floats(const FileBytes& file, const IdxArray& array, const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  const auto values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, array.elements.data() + 4 * i, 4);
    values[i] = std::bit_cast<float>(__builtin_bswap32(word));
    if (!std::isfinite(values[i])) {
      throw DataError("{}: byte {}: expected a finite pixel, found {}", file.name(),
                      file.bytes().size() - array.elements.size() + 4 * i, values[i]);
    }
  }
  return tensor;
}

Tensor read_pixels(const fs::path& path) {
  const FileBytes file(path);
  const IdxArray array = parse_idx(file.name(), file.bytes());
  const Shape& dims = array.shape;
  if (dims.rank() != 3 && dims.rank() != 4) {
    throw DataError("{}: byte 3: expected 3 or 4 dimensions of images, found {}", file.name(), dims.rank());
  }
  if (dims.count() == 0)
    throw DataError("{}: byte 4: no pixels in images of shape {}", file.name(), to_string(dims));
  const int first = dims.rank() - 2;
  const Shape shape{dims[0], dims.rank() == 4 ? dims[1] : 1, dims[first], dims[first + 1]};
  if (array.dtype == DType::f32) return read_floats(file, array, shape);
  return {DType::u8, shape, const_cast<std::byte*>(array.elements.data()), file.owner()};
}

std::vector<std::int32_t> read_labels(const fs::path& path, std::int64_t classes) {
  const FileBytes file(path);
  const IdxArray array = parse_idx(file.name(), file.bytes());
  if (array.shape.rank() != 1 || array.dtype != DType::u8) {
    throw DataError("{}: byte 2: expected labels as u8 in 1 dimension, found {} in {}", file.name(),
                    name_of(array.dtype), array.shape.rank());
  }
  std::vector<std::int32_t> labels;
  labels.reserve(array.elements.size());
  for (const std::byte element : array.elements) {
    const int label = std::to_integer<int>(element);
    if (label >= classes) {
      throw DataError(
          "{}: byte {}: expected a label from 0 to {}, found {} (option classes=N sets how many there are)",
          file.name(), 8 + labels.size(), classes - 1, label);
    }
    labels.push_back(label);
  }
  return labels;
}

ImageArray read_part(const fs::path& folder, std::string_view part, std::int64_t classes) {
  const fs::path images = require_file(folder, part, "images");
  ImageArray array{read_pixels(images), read_labels(require_file(folder, part, "labels"), classes), classes};
  if (array.pixels.shape()[0] != static_cast<std::int64_t>(array.labels.size())) {
    throw DataError("{}: {} images, but {} labels beside them", images.string(), array.pixels.shape()[0],
                    array.labels.size());
  }
  return array;
}

// Both parts are inflated at the same time, since a cold start waits for them.
DataParts read_parts(const std::string& name, const fs::path& folder, std::int64_t classes,
                     std::optional<Normalisation> normalisation) {
  const bool has_test = find_file(folder, "t10k", "images").has_value();
  auto test = std::async(has_test ? std::launch::async : std::launch::deferred,
                         [&] { return read_part(folder, "t10k", classes); });
  ImageArray train = read_part(folder, "train", classes);
  if (!normalisation) normalisation = measure_normalisation(train.pixels);
  const Shape shape = train.pixels.shape();

  DataParts parts;
  parts.train = std::make_unique<ImageDataset>(name, std::move(train), *normalisation);
  if (!has_test) return parts;
  ImageArray held_out = test.get();
  if (held_out.pixels.shape().count(1, 4) != shape.count(1, 4)) {
    throw DataError("{}: training images are {}, test images {}", folder.string(), to_string(shape),
                    to_string(held_out.pixels.shape()));
  }
  parts.test = std::make_unique<ImageDataset>(name, std::move(held_out), *normalisation);
  return parts;
}

}  // namespace

DataParts open_mnist(const DataSource& source) {
  if (!fs::is_directory(source.location)) {
    throw DataError("{}: expected a folder with the IDX files of MNIST", source.location);
  }
  return read_parts("mnist", source.location, source.integer("classes", 10, 1, 256), std::nullopt);
}

DataParts open_fashion_mnist(const DataSource&) {
  const char* chosen = std::getenv("HOCKET_FASHION_MNIST");
  const fs::path folder = chosen != nullptr ? chosen : kFashionFolder;
  if (!fs::is_directory(folder)) {
    throw DataError("{}: Fashion-MNIST is not there; `apt install dataset-fashion-mnist` brings it",
                    folder.string());
  }
  return read_parts("fashion-mnist", folder, 10, Normalisation{{kFashionMean}, {kFashionDeviation}});
}

}  // namespace hocket
