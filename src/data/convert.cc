#include "data/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/nearest.h"
#include "data/file.h"
#include "data/image_codec.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kConvertedBatch = 64;

// Calls `body(sample, row)` for every sample of a data set, where `row` is its row in `batch`.
void for_each_sample(const Dataset& dataset, const Batch& batch,
                     const std::function<void(std::int64_t sample, std::int64_t row)>& body) {
  const std::int64_t size = dataset.info().size;
  std::vector<std::int64_t> indices;
  for (std::int64_t first = 0; first < size; first += kConvertedBatch) {
    indices.clear();
    for (std::int64_t i = first; i < std::min(first + kConvertedBatch, size); ++i) indices.push_back(i);
    dataset.gather(indices, 0, batch.fields);
    for (std::size_t row = 0; row < indices.size(); ++row) body(indices[row], static_cast<std::int64_t>(row));
  }
}

const Shape& image_shape(const DataInfo& info, std::string_view format) {
  if (info.fields.front().name == "image" && !info.mean.empty()) return info.fields.front().shape;
  throw ConfigError("data {} has no images: it cannot be written as {}", info.name, format);
}

// The pixels of one image, [C,H,W], as they were before gather() normalised them.
void restore_pixels(const DataInfo& info, const float* image, std::vector<std::uint8_t>& pixels) {
  const Shape& shape = info.fields.front().shape;
  const auto plane = static_cast<std::size_t>(shape.count(1, 3));
  pixels.resize(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const float pixel = image[i] * info.deviation[i / plane] + info.mean[i / plane];
    pixels[i] = static_cast<std::uint8_t>(std::clamp(std::lround(pixel * 255), 0L, 255L));
  }
}

std::array<std::byte, 4> big_endian(std::int64_t value) {
  std::array<std::byte, 4> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(value >> (24 - 8 * i));
  return bytes;
}

void write_idx_header(FileWriter& file, const std::vector<std::int64_t>& dims) {
  const std::array<std::byte, 4> magic{std::byte{0}, std::byte{0}, std::byte{8},
                                       static_cast<std::byte>(dims.size())};
  file.append(magic);
  for (const std::int64_t dim : dims) file.append(big_endian(dim));
}

void write_idx(const Dataset& dataset, const fs::path& folder, const std::string& part,
               std::vector<fs::path>& made) {
  const DataInfo& info = dataset.info();
  const Shape& shape = image_shape(info, "idx");
  if (info.classes > 256)
    throw ConfigError("data {} has {} classes: idx holds at most 256", info.name, info.classes);
  const fs::path image_path = folder / (part + "-images-idx3-ubyte");
  const fs::path label_path = folder / (part + "-labels-idx1-ubyte");
  FileWriter images(image_path);
  FileWriter labels(label_path);
  std::vector<std::int64_t> dims{info.size, shape[1], shape[2]};
  if (shape[0] != 1) dims.insert(dims.begin() + 1, shape[0]);
  write_idx_header(images, dims);
  write_idx_header(labels, {info.size});

  const Batch batch = make_batch(info, kConvertedBatch);
  std::vector<std::uint8_t> pixels;
  for_each_sample(dataset, batch, [&](std::int64_t, std::int64_t row) {
    restore_pixels(info, batch.fields[0].values<float>().data() + row * shape.count(), pixels);
    images.append(std::as_bytes(std::span(pixels)));
    const auto label =
        static_cast<std::byte>(batch.fields[1].values<std::int32_t>()[static_cast<std::size_t>(row)]);
    labels.append({&label, 1});
  });
  images.commit();
  labels.commit();
  made.insert(made.end(), {image_path, label_path});
}

std::string class_folder(const DataInfo& info, std::int32_t label) {
  const auto index = static_cast<std::size_t>(label);
  return index < info.class_names.size() ? info.class_names[index] : fmt::format("{:05}", label);
}

void write_pngs(const Dataset& dataset, const fs::path& folder, std::vector<fs::path>& made) {
  const DataInfo& info = dataset.info();
  const Shape& shape = image_shape(info, "image-folder");
  if (shape[0] != 1 && shape[0] != 3)
    throw ConfigError("data {} has {} channels: PNG holds 1 or 3", info.name, shape[0]);
  const Batch batch = make_batch(info, kConvertedBatch);
  const auto plane = static_cast<std::size_t>(shape.count(1, 3));
  std::vector<std::uint8_t> pixels;
  for_each_sample(dataset, batch, [&](std::int64_t sample, std::int64_t row) {
    restore_pixels(info, batch.fields[0].values<float>().data() + row * shape.count(), pixels);
    Image image{static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]), {}};
    for (std::size_t i = 0; i < plane; ++i) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(shape[0]); ++c)
        image.pixels.push_back(pixels[c * plane + i]);
    }
    const std::int32_t label = batch.fields[1].values<std::int32_t>()[static_cast<std::size_t>(row)];
    fs::create_directories(folder / class_folder(info, label));
    FileWriter file(folder / class_folder(info, label) / fmt::format("{:08}.png", sample));
    file.append(encode_png(image));
    file.commit();
  });
  made.push_back(folder);
}

// One row as `label index:value …`.
class LibsvmRow {
 public:
  LibsvmRow(const DataInfo& info, const Batch& batch) : info_(info), batch_(batch) {
    for (std::size_t i = 0; i < info.fields.size(); ++i) {
      const std::string& name = info.fields[i].name;
      if (name == "features" || name == "numeric") dense_ = &batch.fields[i];
      if (name == "category") category_ = &batch.fields[i];
      if (name == "values") values_ = &batch.fields[i];
    }
    if (dense_ == nullptr && category_ == nullptr && values_ == nullptr) {
      throw ConfigError("data {} has no rows of numbers: it cannot be written as libsvm", info.name);
    }
  }

  std::string text(std::int64_t row) {
    line_ = label(row);
    std::int64_t first = 1;
    if (dense_ != nullptr) {
      const std::int64_t width = dense_->shape()[1];
      const float* values = dense_->values<float>().data() + row * width;
      for (std::int64_t i = 0; i < width; ++i) add(first + i, values[i]);
      first += width;
    }
    if (category_ != nullptr) add_categories(row, first);
    if (values_ != nullptr) add_packed(row);
    return line_ + "\n";
  }

 private:
  std::string label(std::int64_t row) const {
    const Tensor& labels = batch_.fields.back();
    const auto at = static_cast<std::size_t>(row);
    if (info_.task == Task::classification) return fmt::format("{}", labels.values<std::int32_t>()[at]);
    const float value = labels.values<float>()[at];
    return info_.task == Task::binary ? (value > 0 ? "+1" : "-1") : fmt::format("{}", value);
  }

  void add(std::int64_t index, float value) {
    if (value != 0) line_ += fmt::format(" {}:{}", index, value);
  }

  // Two categories in one bucket are one entry with their number as its value.
  void add_categories(std::int64_t row, std::int64_t first) {
    const std::int64_t width = category_->shape()[1];
    const std::int32_t* begin = category_->values<std::int32_t>().data() + row * width;
    std::vector<std::int32_t> buckets(begin, begin + width);
    std::sort(buckets.begin(), buckets.end());
    for (auto at = buckets.begin(); at != buckets.end();) {
      const auto end = std::upper_bound(at, buckets.end(), *at);
      add(first + *at, static_cast<float>(end - at));
      at = end;
    }
  }

  void add_packed(std::int64_t row) {
    const auto offsets = batch_.fields[field_index(info_, "offsets")].values<std::int32_t>();
    const auto columns = batch_.fields[field_index(info_, "columns")].values<std::int32_t>();
    const auto at = static_cast<std::size_t>(row);
    for (auto i = static_cast<std::size_t>(offsets[at]); i < static_cast<std::size_t>(offsets[at + 1]); ++i) {
      add(std::int64_t{columns[i]} + 1, values_->values<float>()[i]);
    }
  }

  const DataInfo& info_;
  const Batch& batch_;
  const Tensor* dense_ = nullptr;
  const Tensor* category_ = nullptr;
  const Tensor* values_ = nullptr;
  std::string line_;
};

void write_libsvm(const Dataset& dataset, const fs::path& path, std::vector<fs::path>& made) {
  const Batch batch = make_batch(dataset.info(), kConvertedBatch);
  LibsvmRow rows(dataset.info(), batch);
  FileWriter file(path);
  for_each_sample(dataset, batch, [&](std::int64_t, std::int64_t row) { file.append(rows.text(row)); });
  file.commit();
  made.push_back(path);
}

}  // namespace

const std::vector<std::string_view>& conversion_formats() {
  static const std::vector<std::string_view> formats{"idx", "image-folder", "libsvm"};
  return formats;
}

std::vector<fs::path> convert(const DataParts& parts, std::string_view format, const fs::path& out) {
  std::vector<fs::path> made;
  if (format == "idx") {
    fs::create_directories(out);
    write_idx(*parts.train, out, "train", made);
    if (parts.test != nullptr) write_idx(*parts.test, out, "t10k", made);
  } else if (format == "image-folder") {
    write_pngs(*parts.train, out / "train", made);
    if (parts.test != nullptr) write_pngs(*parts.test, out / "test", made);
  } else if (format == "libsvm") {
    write_libsvm(*parts.train, out, made);
    if (parts.test != nullptr) write_libsvm(*parts.test, out.string() + ".t", made);
  } else {
    throw ConfigError("unknown format '{}'; expected {}{}", format, fmt::join(conversion_formats(), ", "),
                      did_you_mean(format, conversion_formats()));
  }
  return made;
}

}  // namespace hocket
