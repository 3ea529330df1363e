#include "data/image_dataset.h"

#include <array>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

struct PixelMoments {
  double sum = 0;
  double square_sum = 0;
};

PixelMoments moments_of(std::span<const std::uint8_t> pixels) {
  std::uint64_t sum = 0;
  std::uint64_t square_sum = 0;
  for (const std::uint32_t pixel : pixels) {
    sum += pixel;
    square_sum += pixel * pixel;
  }
  return {static_cast<double>(sum) / 255.0, static_cast<double>(square_sum) / (255.0 * 255.0)};
}

PixelMoments moments_of(std::span<const float> pixels) {
  PixelMoments moments;
  for (const double pixel : pixels) {
    moments.sum += pixel;
    moments.square_sum += pixel * pixel;
  }
  return moments;
}

template <typename T>
Normalisation measure(const Tensor& pixels) {
  const auto channels = static_cast<std::size_t>(pixels.shape()[1]);
  const auto plane = static_cast<std::size_t>(pixels.shape().count(2, 4));
  const auto values = pixels.values<T>();
  std::vector<PixelMoments> total(channels);
  for (std::size_t first = 0; first < values.size(); first += plane) {
    const PixelMoments moments = moments_of(std::span<const T>(values.subspan(first, plane)));
    PixelMoments& channel = total[first / plane % channels];
    channel.sum += moments.sum;
    channel.square_sum += moments.square_sum;
  }
  Normalisation result;
  const double count = static_cast<double>(values.size()) / static_cast<double>(channels);
  for (const PixelMoments& moments : total) {
    const double mean = moments.sum / count;
    const double variance = moments.square_sum / count - mean * mean;
    result.mean.push_back(static_cast<float>(mean));
    result.deviation.push_back(variance > 1e-12 ? static_cast<float>(std::sqrt(variance)) : 1.0F);
  }
  return result;
}

void normalise(const float* src, float* dst, std::size_t plane, const Normalisation& normalisation) {
  for (std::size_t c = 0; c < normalisation.mean.size(); ++c) {
    for (std::size_t i = c * plane; i < (c + 1) * plane; ++i) {
      dst[i] = (src[i] - normalisation.mean[c]) / normalisation.deviation[c];
    }
  }
}

}  // namespace

Normalisation measure_normalisation(const Tensor& pixels) {
  return pixels.dtype() == DType::u8 ? measure<std::uint8_t>(pixels) : measure<float>(pixels);
}

void normalise(const std::uint8_t* src, float* dst, std::size_t plane, const Normalisation& normalisation) {
  for (std::size_t c = 0; c < normalisation.mean.size(); ++c) {
    const float scale = 1.0F / (255.0F * normalisation.deviation[c]);
    const float shift = -normalisation.mean[c] / normalisation.deviation[c];
    for (std::size_t i = c * plane; i < (c + 1) * plane; ++i)
      dst[i] = static_cast<float>(src[i]) * scale + shift;
  }
}

ImageDataset::ImageDataset(std::string name, ImageArray images, Normalisation normalisation)
    : images_(std::move(images)), normalisation_(std::move(normalisation)) {
  const Shape& all = images_.pixels.shape();
  HOCKET_CHECK(all.rank() == 4 && all[0] == static_cast<std::int64_t>(images_.labels.size()),
               "images {} with {} labels", to_string(all), images_.labels.size());
  HOCKET_CHECK(static_cast<std::int64_t>(normalisation_.mean.size()) == all[1], "one mean per channel");
  info_.name = std::move(name);
  info_.classes = images_.classes;
  info_.fields = {{"image", DType::f32, {all[1], all[2], all[3]}}, {"label", DType::i32, {}}};
  info_.size = all[0];
  info_.bytes =
      static_cast<std::int64_t>(images_.pixels.byte_size() + images_.labels.size() * sizeof(std::int32_t));
  info_.mean = normalisation_.mean;
  info_.deviation = normalisation_.deviation;
}

void ImageDataset::gather(std::span<const std::int64_t> indices, std::int64_t,
                          std::span<const Tensor> out) const {
  const auto plane = static_cast<std::size_t>(images_.pixels.shape().count(2, 4));
  const std::size_t pixels = plane * normalisation_.mean.size();
  float* dst = out[0].values<float>().data();
  const auto labels = out[1].values<std::int32_t>();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    if (images_.pixels.dtype() == DType::u8) {
      normalise(images_.pixels.values<std::uint8_t>().data() + index * pixels, dst + i * pixels, plane,
                normalisation_);
    } else {
      normalise(images_.pixels.values<float>().data() + index * pixels, dst + i * pixels, plane,
                normalisation_);
    }
    labels[i] = images_.labels[index];
  }
  for (const Tensor& tensor : out) zero_rows_from(tensor, static_cast<std::int64_t>(indices.size()));
}

}  // namespace hocket
