#include "data/image_codec.h"

#include <gtest/gtest.h>
#include <jpeglib.h>

#include <cstdio>
#include <cstdlib>

#include "data/test_files.h"

namespace hocket {
namespace {

Image gradient(int channels, int height, int width) {
  Image image{channels, height, width, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<std::uint8_t>((y * 5 + x * 3 + c * 40) % 256));
    }
  }
  return image;
}

std::vector<std::byte> encode_jpeg(const Image& image) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = image.channels;
  info.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const auto row_size = static_cast<std::size_t>(image.width * image.channels);
    auto* row = const_cast<JSAMPLE*>(image.pixels.data() + row_size * info.next_scanline);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* begin = reinterpret_cast<std::byte*>(memory);
  std::vector<std::byte> bytes(begin, begin + size);
  std::free(memory);
  return bytes;
}

TEST(ImageCodec, PngComesBackExactly) {
  for (const int channels : {1, 3}) {
    const Image image = gradient(channels, 9, 14);
    const Image found = decode_image("x", encode_png(image), 0);
    EXPECT_EQ(found.channels, channels);
    EXPECT_EQ(found.height, 9);
    EXPECT_EQ(found.width, 14);
    EXPECT_EQ(found.pixels, image.pixels);
  }
}

TEST(ImageCodec, JpegComesBackNearly) {
  const Image image = gradient(1, 24, 40);
  const Image found = decode_image("x", encode_jpeg(image), 0);
  ASSERT_EQ(found.pixels.size(), image.pixels.size());
  for (std::size_t i = 0; i < image.pixels.size(); ++i) EXPECT_NEAR(found.pixels[i], image.pixels[i], 25);
}

TEST(ImageCodec, ConvertsChannels) {
  EXPECT_EQ(decode_image("x", encode_png(gradient(1, 4, 4)), 3).pixels.size(), 48U);
  EXPECT_EQ(decode_image("x", encode_png(gradient(3, 4, 4)), 1).pixels.size(), 16U);
  EXPECT_EQ(decode_image("x", encode_jpeg(gradient(3, 4, 4)), 1).pixels.size(), 16U);
  EXPECT_EQ(decode_image("x", encode_jpeg(gradient(1, 4, 4)), 3).pixels.size(), 48U);
}

TEST(ImageCodec, RefusesCutFiles) {
  for (const auto& whole : {encode_png(gradient(3, 32, 32)), encode_jpeg(gradient(3, 32, 32))}) {
    for (std::size_t size = 0; size + 20 < whole.size(); size += 7) {
      EXPECT_THROW(decode_image("x", std::span(whole).first(size), 0), DataError) << size;
    }
  }
}

TEST(ImageCodec, RefusesSizesThatTheFileCannotHold) {
  auto bytes = encode_png(gradient(1, 4, 4));
  bytes[16] = std::byte{0x00};  // The width, big-endian: 65,536.
  bytes[17] = std::byte{0x01};
  bytes[18] = std::byte{0};
  bytes[19] = std::byte{0};
  EXPECT_THROW(decode_image("x", bytes, 0), DataError);
}

TEST(ImageCodec, RefusesOtherFiles) {
  const std::string text = "GIF89a";
  EXPECT_EQ(message_of<DataError>([&] { decode_image("x", std::as_bytes(std::span(text)), 0); }),
            "x: byte 0: expected the first bytes of a PNG or JPEG file, found others");
}

TEST(Fit, KeepsFlatImagesFlatAndGradientsInOrder) {
  Image flat = gradient(3, 20, 30);
  std::fill(flat.pixels.begin(), flat.pixels.end(), std::uint8_t{77});
  for (const std::uint8_t pixel : fit(flat, 7, 50).pixels) EXPECT_EQ(pixel, 77);
  Image ramp{1, 1, 64, {}};
  for (int x = 0; x < 64; ++x) ramp.pixels.push_back(static_cast<std::uint8_t>(4 * x));
  Image tall = ramp;
  tall.height = 64;
  for (int y = 1; y < 64; ++y) tall.pixels.insert(tall.pixels.end(), ramp.pixels.begin(), ramp.pixels.end());
  const Image small = fit(tall, 8, 8);
  for (std::size_t x = 0; x < 8; ++x) EXPECT_NEAR(small.pixels[x], 32 * x + 14, 3);
}

TEST(Fit, CutsTheMiddleOut) {
  Image wide{1, 2, 6, {0, 0, 9, 9, 0, 0, 0, 0, 9, 9, 0, 0}};
  EXPECT_EQ(fit(wide, 2, 2).pixels, (std::vector<std::uint8_t>{9, 9, 9, 9}));
}

}  // namespace
}  // namespace hocket
