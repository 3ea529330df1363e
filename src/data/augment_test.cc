#include "data/augment.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "data/image_dataset.h"
#include "data/test_files.h"

namespace hocket {
namespace {

// Four images of 2 × 4 × 6 pixels, all different.
ImageDataset small_images() {
  ImageArray images;
  images.pixels = Tensor(DType::u8, {4, 2, 4, 6});
  const auto pixels = images.pixels.values<std::uint8_t>();
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  images.labels = {0, 1, 2, 3};
  images.classes = 4;
  return {"small",
          std::move(images),
          {{0, 0}, {1.0F / 255, 1.0F / 255}}};  // gather() then gives the bytes themselves.
}

std::vector<float> gather_one(const Dataset& data, std::int64_t sample, std::int64_t epoch) {
  const Batch batch = make_batch(data.info(), 1);
  data.gather({&sample, 1}, epoch, batch.fields);
  const auto values = batch.fields[0].values<float>();
  return {values.begin(), values.end()};
}

AugmentOptions only(bool flip, int shift, double rotate, double noise) {
  AugmentOptions options;
  options.flip = flip;
  options.shift = shift;
  options.rotate = rotate;
  options.noise = noise;
  return options;
}

TEST(Augment, FlipsAboutHalfOfTheSamples) {
  const ImageDataset data = small_images();
  const AugmentedDataset flipped(data, only(true, 0, 0, 0));
  int flips = 0;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const auto plain = gather_one(data, 1, epoch);
    const auto found = gather_one(flipped, 1, epoch);
    if (found == plain) continue;
    ++flips;
    for (std::size_t row = 0; row < 8; ++row) {
      for (std::size_t x = 0; x < 6; ++x) ASSERT_FLOAT_EQ(found[row * 6 + x], plain[row * 6 + 5 - x]);
    }
  }
  EXPECT_NEAR(flips, 100, 35);
}

TEST(Augment, ShiftsByWholePixelsAndRepeatsTheEdge) {
  const ImageDataset data = small_images();
  const AugmentedDataset shifted(data, only(false, 1, 0, 0));
  const auto plain = gather_one(data, 2, 0);
  std::vector<int> seen(9);
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const auto found = gather_one(shifted, 2, epoch);
    int matches = 0;
    for (int move = 0; move < 9; ++move) {
      const int down = move / 3 - 1;
      const int right = move % 3 - 1;
      bool same = true;
      for (int c = 0; c < 2; ++c) {
        for (int y = 0; y < 4; ++y) {
          for (int x = 0; x < 6; ++x) {
            const int from = (c * 4 + std::clamp(y - down, 0, 3)) * 6 + std::clamp(x - right, 0, 5);
            same = same && std::abs(found[static_cast<std::size_t>((c * 4 + y) * 6 + x)] -
                                    plain[static_cast<std::size_t>(from)]) < 1e-3F;
          }
        }
      }
      matches += same ? 1 : 0;
      seen[static_cast<std::size_t>(move)] += same ? 1 : 0;
    }
    EXPECT_EQ(matches, 1);
  }
  for (const int count : seen) EXPECT_GT(count, 0);
}

TEST(Augment, RotationKeepsTheMean) {
  const ImageDataset data = small_images();
  const AugmentedDataset rotated(data, only(false, 0, 20, 0));
  const auto plain = gather_one(data, 0, 3);
  const auto found = gather_one(rotated, 0, 3);
  EXPECT_NE(found, plain);
  const float mean = std::accumulate(plain.begin(), plain.end(), 0.0F) / static_cast<float>(plain.size());
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0F) / static_cast<float>(found.size()), mean,
              0.5);
}

TEST(Augment, NoiseHasItsDeviation) {
  const ImageDataset data = small_images();
  const AugmentedDataset noisy(data, only(false, 0, 0, 0.5));
  double sum = 0;
  double square_sum = 0;
  double count = 0;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const auto plain = gather_one(data, 0, epoch);
    const auto found = gather_one(noisy, 0, epoch);
    for (std::size_t i = 0; i < plain.size(); ++i, ++count) {
      sum += found[i] - plain[i];
      square_sum += (found[i] - plain[i]) * (found[i] - plain[i]);
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.03);
  EXPECT_NEAR(std::sqrt(square_sum / count), 0.5, 0.02);
}

RC_GTEST_PROP(Augment, IsAFunctionOfSeedSampleAndEpochAlone, ()) {
  const ImageDataset data = small_images();
  AugmentOptions options = only(true, 2, 15, 0.1);
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  const AugmentedDataset augmented(data, options);
  const auto sample = *rc::gen::inRange<std::int64_t>(0, 4);
  const auto epoch = *rc::gen::inRange<std::int64_t>(0, 1000);
  // Beside other samples, in another row, from another object: the same pixels.
  const auto others = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4));
  std::vector<std::int64_t> indices = others;
  indices.push_back(sample);
  const AugmentedDataset again(data, options);
  const Batch batch = make_batch(data.info(), static_cast<std::int64_t>(indices.size()));
  again.gather(indices, epoch, batch.fields);
  const auto values = batch.fields[0].values<float>().last(48);
  RC_ASSERT(std::vector<float>(values.begin(), values.end()) == gather_one(augmented, sample, epoch));
}

TEST(Augment, FadesOutNearTheEnd) {
  const AugmentOptions options = parse_augment("flip,shift=2,fade=0.5", 10, 1);
  EXPECT_EQ(options.strength(0), 1);
  EXPECT_EQ(options.strength(4), 1);
  EXPECT_LT(options.strength(5), 1);
  EXPECT_GT(options.strength(5), options.strength(9));
  EXPECT_GT(options.strength(9), 0);
  EXPECT_EQ(options.strength(10), 0);
  const ImageDataset data = small_images();
  EXPECT_EQ(gather_one(AugmentedDataset(data, options), 0, 10), gather_one(data, 0, 10));
}

TEST(Augment, ReadsItsOptions) {
  const AugmentOptions options = parse_augment("flip,shift=2,rotate=10,noise=0.1", 10, 7);
  EXPECT_TRUE(options.flip);
  EXPECT_EQ(options.shift, 2);
  EXPECT_EQ(options.rotate, 10);
  EXPECT_EQ(options.noise, 0.1);
  EXPECT_EQ(options.fade_start, 8);
  EXPECT_EQ(options.seed, 7U);
  EXPECT_TRUE(parse_augment("", 10, 0).is_none());
  EXPECT_TRUE(parse_augment("none", 10, 0).is_none());
}

TEST(Augment, NamesWhatItDoesNotKnow) {
  EXPECT_NE(message_of<ConfigError>([] { parse_augment("flp", 1, 0); }).find("did you mean flip?"),
            std::string::npos);
  EXPECT_THROW(parse_augment("shift=x", 1, 0), ConfigError);
  EXPECT_THROW(parse_augment("rotate=-3", 1, 0), ConfigError);
  EXPECT_THROW(parse_augment("noise=nan", 1, 0), ConfigError);
}

}  // namespace
}  // namespace hocket
