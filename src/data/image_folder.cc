#include "data/image_folder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "data/file.h"
#include "data/image_codec.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMeasured = 256;

bool is_image(const fs::path& path) {
  std::string suffix = path.extension().string();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg";
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    if (error) break;
    if (at->path().filename().string().front() != '.') entries.push_back(at->path());
  }
  if (error) throw DataError("{}: cannot read the folder: {}", folder.string(), error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& entry : sorted_entries(folder)) {
    if (fs::is_directory(entry)) names.push_back(entry.filename().string());
  }
  if (names.size() < 2) {
    throw DataError("{}: expected one folder of images per class, at least 2, found {}", folder.string(),
                    names.size());
  }
  return names;
}

std::vector<ImageFile> find_images(const fs::path& folder, const std::vector<std::string>& classes) {
  std::vector<ImageFile> files;
  for (const std::string& name : class_folders(folder)) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) {
      throw DataError("{}: class '{}' is not among the training data", folder.string(), name);
    }
    for (const fs::path& path : sorted_entries(folder / name)) {
      if (is_image(path)) files.push_back({path, static_cast<std::int32_t>(found - classes.begin())});
    }
  }
  if (files.empty()) throw DataError("{}: no PNG or JPEG files in the class folders", folder.string());
  return files;
}

// The image as shape [C,H,W] wants it, channels still side by side.
Image load(const ImageFile& file, const Shape& shape, bool resize) {
  const FileBytes bytes(file.path);
  Image image = decode_image(bytes.name(), bytes.bytes(), static_cast<int>(shape[0]));
  if (image.height == shape[1] && image.width == shape[2]) return image;
  if (!resize) {
    throw DataError(
        "{}: expected an image of {} x {} pixels, as the first one, found {} x {} (option size=HxW scales)",
        bytes.name(), shape[1], shape[2], image.height, image.width);
  }
  return fit(image, static_cast<int>(shape[1]), static_cast<int>(shape[2]));
}

// [H,W,C] to [C,H,W]
void to_planes(const Image& image, std::uint8_t* out) {
  for (int c = 0; c < image.channels; ++c) {
    for (std::size_t i = static_cast<std::size_t>(c); i < image.pixels.size();
         i += static_cast<std::size_t>(image.channels)) {
      *out++ = image.pixels[i];
    }
  }
}

// Over images that are evenly spread over the set.
Normalisation measure_files(const std::vector<ImageFile>& files, const Shape& shape, bool resize) {
  const std::size_t count = std::min(kMeasured, files.size());
  Tensor pixels(DType::u8, {static_cast<std::int64_t>(count), shape[0], shape[1], shape[2]});
  for (std::size_t i = 0; i < count; ++i) {
    to_planes(load(files[i * files.size() / count], shape, resize),
              pixels.values<std::uint8_t>().data() + i * static_cast<std::size_t>(shape.count()));
  }
  return measure_normalisation(pixels);
}

// "S" or "HxW".
std::optional<std::pair<std::int64_t, std::int64_t>> parse_size(const DataSource& source) {
  const std::string text = source.option("size", "");
  if (text.empty()) return std::nullopt;
  std::int64_t height = 0;
  const char* end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, height);
  std::int64_t width = height;
  if (read.ec == std::errc{} && read.ptr < end && *read.ptr == 'x')
    read = std::from_chars(read.ptr + 1, end, width);
  const auto is_size = [](std::int64_t n) { return n >= 1 && n <= 1 << 13; };
  if (read.ec == std::errc{} && read.ptr == end && is_size(height) && is_size(width))
    return std::pair(height, width);
  throw ConfigError("data '{}': option 'size': expected S or HxW in pixels, found '{}'", source.text, text);
}

}  // namespace

ImageFolder::ImageFolder(std::string name, std::vector<ImageFile> files, std::vector<std::string> class_names,
                         const Shape& shape, bool resize, Normalisation normalisation)
    : files_(std::move(files)), resize_(resize), normalisation_(std::move(normalisation)) {
  info_.name = std::move(name);
  info_.classes = static_cast<std::int64_t>(class_names.size());
  info_.class_names = std::move(class_names);
  info_.fields = {{"image", DType::f32, shape}, {"label", DType::i32, {}}};
  info_.size = static_cast<std::int64_t>(files_.size());
  info_.mean = normalisation_.mean;
  info_.deviation = normalisation_.deviation;
}

void ImageFolder::gather(std::span<const std::int64_t> indices, std::int64_t,
                         std::span<const Tensor> out) const {
  const Shape& shape = info_.fields[0].shape;
  const auto pixels = static_cast<std::size_t>(shape.count());
  std::vector<std::uint8_t> planes(pixels);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const ImageFile& file = files_[static_cast<std::size_t>(indices[i])];
    to_planes(load(file, shape, resize_), planes.data());
    normalise(planes.data(), out[0].values<float>().data() + i * pixels,
              static_cast<std::size_t>(shape.count(1, 3)), normalisation_);
    out[1].values<std::int32_t>()[i] = file.label;
  }
  for (const Tensor& tensor : out) zero_rows_from(tensor, static_cast<std::int64_t>(indices.size()));
}

DataParts open_image_folder(const DataSource& source) {
  const fs::path root = source.location;
  if (!fs::is_directory(root))
    throw DataError("{}: expected a folder with one folder of images per class", root.string());
  const fs::path train = fs::is_directory(root / "train") ? root / "train" : root;
  const fs::path test = fs::is_directory(root / "test") ? root / "test" : root / "val";
  const std::vector<std::string> classes = class_folders(train);
  std::vector<ImageFile> files = find_images(train, classes);

  const FileBytes first(files[0].path);
  const std::int64_t channels = source.integer("channels", 0, 1, 3);
  if (channels == 2) throw ConfigError("data '{}': option 'channels': expected 1 or 3, found 2", source.text);
  const Image sample = decode_image(first.name(), first.bytes(), static_cast<int>(channels));
  const auto size = parse_size(source);
  const Shape shape{sample.channels, size ? size->first : sample.height, size ? size->second : sample.width};
  const Normalisation normalisation = measure_files(files, shape, size.has_value());

  const std::string name =
      root.filename().empty() ? root.parent_path().filename().string() : root.filename().string();
  DataParts parts;
  parts.train =
      std::make_unique<ImageFolder>(name, std::move(files), classes, shape, size.has_value(), normalisation);
  if (train != root && fs::is_directory(test)) {
    parts.test = std::make_unique<ImageFolder>(name, find_images(test, classes), classes, shape,
                                               size.has_value(), normalisation);
  }
  return parts;
}

}  // namespace hocket
