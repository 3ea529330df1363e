#include "data/cifar.h"

#include <filesystem>

#include "base/error.h"
#include "data/file.h"
#include "data/image_dataset.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr int kClasses = 10;
constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::size_t kRecord = 1 + kPixels;

std::unique_ptr<const Dataset> read_batches(std::span<const fs::path> paths) {
  ImageArray images;
  std::vector<std::uint8_t> pixels;
  for (const fs::path& path : paths) {
    const FileBytes file(path);
    pixels.reserve(pixels.size() + file.bytes().size());
    parse_cifar(file.name(), file.bytes(), images.labels, pixels);
  }
  const auto owner = std::make_shared<std::vector<std::uint8_t>>(std::move(pixels));
  const auto count = static_cast<std::int64_t>(images.labels.size());
  images.classes = kClasses;
  images.pixels = Tensor(DType::u8, {count, 3, 32, 32}, reinterpret_cast<std::byte*>(owner->data()), owner);
  // Of the 50,000 training images.
  const Normalisation normalisation{{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};
  return std::make_unique<ImageDataset>("cifar10", std::move(images), normalisation);
}

}  // namespace

void parse_cifar(std::string_view name, std::span<const std::byte> bytes, std::vector<std::int32_t>& labels,
                 std::vector<std::uint8_t>& pixels) {
  if (bytes.empty() || bytes.size() % kRecord != 0) {
    throw DataError("{}: expected records of {} bytes, found {} bytes: {} and {} over", name, kRecord,
                    bytes.size(), bytes.size() / kRecord, bytes.size() % kRecord);
  }
  for (std::size_t at = 0; at < bytes.size(); at += kRecord) {
    const int label = std::to_integer<int>(bytes[at]);
    if (label >= kClasses) {
      throw DataError("{}: byte {}: expected a label from 0 to {}, found {}", name, at, kClasses - 1, label);
    }
    labels.push_back(label);
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data()) + at + 1;
    pixels.insert(pixels.end(), first, first + kPixels);
  }
}

DataParts open_cifar10(const DataSource& source) {
  fs::path folder = source.location;
  if (fs::is_directory(folder / "cifar-10-batches-bin")) folder /= "cifar-10-batches-bin";
  std::vector<fs::path> batches;
  for (int i = 1; i <= 5; ++i) {
    const fs::path path = folder / fmt::format("data_batch_{}.bin", i);
    if (fs::exists(path)) batches.push_back(path);
  }
  if (batches.empty()) {
    throw DataError(
        "{}: no file data_batch_1.bin to data_batch_5.bin (CIFAR-10, binary version) in this folder",
        folder.string());
  }
  DataParts parts;
  parts.train = read_batches(batches);
  const fs::path test[] = {folder / "test_batch.bin"};
  if (fs::exists(test[0])) parts.test = read_batches(test);
  return parts;
}

}  // namespace hocket
