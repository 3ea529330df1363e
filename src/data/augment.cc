#include "data/augment.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "data/noise.h"
#include "data/number.h"

namespace hocket {
namespace {

constexpr std::string_view kKeys[] = {"flip", "shift", "rotate", "noise", "fade", "none"};

// What happens to one sample in one epoch.
struct Change {
  bool flip = false;
  int down = 0;
  int right = 0;
  double angle = 0;
  float noise = 0;
  std::uint64_t noise_stream = 0;

  bool moves() const { return flip || down != 0 || right != 0 || angle != 0; }
};

// Draws the same number of random values whatever the options are, so that one does not change another's.
Change draw_change(const AugmentOptions& options, std::int64_t sample, std::int64_t epoch) {
  const double strength = options.strength(epoch);
  Rng rng{options.seed, 0x6175676d, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(epoch)};
  const double flip = rng.uniform();
  const double down = rng.uniform(-1, 1);
  const double right = rng.uniform(-1, 1);
  const double angle = rng.uniform(-1, 1);
  const double reach = strength * (options.shift + 0.5);
  Change change;
  change.flip = options.flip && flip < 0.5 * strength;
  if (options.shift > 0) {
    change.down = std::clamp(static_cast<int>(std::lround(down * reach)), -options.shift, options.shift);
    change.right = std::clamp(static_cast<int>(std::lround(right * reach)), -options.shift, options.shift);
  }
  change.angle = strength * options.rotate * angle * std::numbers::pi / 180;
  change.noise = static_cast<float>(strength * options.noise);
  change.noise_stream = rng.next();
  return change;
}

struct Plane {
  int height;
  int width;
};

// The pixel at (y, x), between the four around it, with the edge repeated outside.
float sample_at(const float* plane, Plane size, float y, float x) {
  y = std::clamp(y, 0.0F, static_cast<float>(size.height - 1));
  x = std::clamp(x, 0.0F, static_cast<float>(size.width - 1));
  const int top = static_cast<int>(y);
  const int left = static_cast<int>(x);
  const int bottom = std::min(top + 1, size.height - 1);
  const int beside = std::min(left + 1, size.width - 1);
  const float dy = y - static_cast<float>(top);
  const float dx = x - static_cast<float>(left);
  const float* upper = plane + top * size.width;
  const float* lower = plane + bottom * size.width;
  return (1 - dy) * ((1 - dx) * upper[left] + dx * upper[beside]) +
         dy * ((1 - dx) * lower[left] + dx * lower[beside]);
}

// dst(y, x) = src at the place that flip, then rotation about the centre, then shift bring to (y, x).
void move_pixels(const float* src, float* dst, Plane size, const Change& change) {
  const auto cosine = static_cast<float>(std::cos(change.angle));
  const auto sine = static_cast<float>(std::sin(change.angle));
  const float middle_y = static_cast<float>(size.height - 1) / 2;
  const float middle_x = static_cast<float>(size.width - 1) / 2;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const float from_y = static_cast<float>(y - change.down) - middle_y;
      const float from_x = static_cast<float>(x - change.right) - middle_x;
      const float turned_y = cosine * from_y - sine * from_x;
      const float turned_x = sine * from_y + cosine * from_x;
      dst[y * size.width + x] =
          sample_at(src, size, middle_y + turned_y, middle_x + (change.flip ? -turned_x : turned_x));
    }
  }
}

// `scratch` has room for one plane.
void apply(const Change& change, float* image, const Shape& shape, float* scratch) {
  const Plane size{static_cast<int>(shape[1]), static_cast<int>(shape[2])};
  const std::int64_t plane = shape.count(1, 3);
  if (change.moves()) {
    for (std::int64_t c = 0; c < shape[0]; ++c) {
      std::copy_n(image + c * plane, plane, scratch);
      move_pixels(scratch, image + c * plane, size, change);
    }
  }
  if (change.noise > 0) {
    const auto count = static_cast<std::uint64_t>(shape.count());
    for (std::uint64_t i = 0; i < count; ++i)
      image[i] += change.noise * noise_of(mix_bits(change.noise_stream + i));
  }
}

double parse_amount(std::string_view key, std::string_view text, double high) {
  double value = 0;
  if (!parse_whole_number(text, value) || !(value >= 0 && value <= high)) {
    throw ConfigError("augmentation '{}': expected a number from 0 to {}, found {}", key, high,
                      in_quotes(text));
  }
  return value;
}

void set_option(AugmentOptions& options, double& fade, std::string_view item) {
  const std::size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
  if (key == "flip" && equals == std::string_view::npos) {
    options.flip = true;
  } else if (key == "shift") {
    options.shift = static_cast<int>(parse_amount(key, value, 1000));
  } else if (key == "rotate") {
    options.rotate = parse_amount(key, value, 180);
  } else if (key == "noise") {
    options.noise = parse_amount(key, value, 100);
  } else if (key == "fade") {
    fade = parse_amount(key, value, 1);
  } else if (item != "none") {
    throw ConfigError(
        "unknown augmentation {}; expected flip, shift=PIXELS, rotate=DEGREES, noise=DEVIATION or "
        "fade=PART{}",
        in_quotes(item), did_you_mean(key, kKeys));
  }
}

}  // namespace

double AugmentOptions::strength(std::int64_t epoch) const {
  if (epoch < fade_start) return 1;
  if (epoch >= fade_end) return 0;
  return static_cast<double>(fade_end - epoch) / static_cast<double>(fade_end - fade_start + 1);
}

AugmentOptions parse_augment(std::string_view text, std::int64_t epochs, std::uint64_t seed) {
  AugmentOptions options;
  options.seed = seed;
  double fade = 0.2;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find(',', start), text.size());
    set_option(options, fade, text.substr(start, stop - start));
    start = stop + 1;
  }
  const auto fading = static_cast<std::int64_t>(std::llround(fade * static_cast<double>(epochs)));
  if (fading > 0) {
    options.fade_start = epochs - fading;
    options.fade_end = epochs;
  }
  return options;
}

AugmentedDataset::AugmentedDataset(const Dataset& dataset, const AugmentOptions& options)
    : dataset_(dataset), options_(options) {
  const Field& field = dataset.info().fields.front();
  if (field.name != "image") throw ConfigError("data {} has no images to augment", dataset.info().name);
}

void AugmentedDataset::gather(std::span<const std::int64_t> indices, std::int64_t epoch,
                              std::span<const Tensor> out) const {
  dataset_.gather(indices, epoch, out);
  if (options_.is_none() || options_.strength(epoch) == 0) return;
  const Shape& shape = info().fields.front().shape;
  thread_local std::vector<float> scratch;  // Grows once per thread, so that steps allocate nothing.
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(shape.count(1, 3))));
  float* image = out[0].values<float>().data();
  for (const std::int64_t index : indices) {
    apply(draw_change(options_, index, epoch), image, shape, scratch.data());
    image += shape.count();
  }
}

}  // namespace hocket
