#include "data/mnist.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

using std::string_literals::operator""s;

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string images(std::uint32_t count, const std::string& pixels) {
  return "\0\0\x08\x03"s + number(count) + number(2) + number(2) + pixels;
}

std::string labels(const std::string& values) {
  return "\0\0\x08\x01"s + number(static_cast<std::uint32_t>(values.size())) + values;
}

TestFolder& write_train(TestFolder& folder, const std::string& image_file, const std::string& label_file) {
  folder.write("train-images-idx3-ubyte", image_file);
  folder.write("train-labels-idx1-ubyte", label_file);
  return folder;
}

std::string mnist_message(const TestFolder& folder) {
  return message_of<DataError>([&] { open_dataset({"mnist:" + folder.path().string(), ""}); });
}

TEST(Mnist, ReadsAndNormalisesImages) {
  TestFolder folder;
  write_train(folder, images(2, "\0\0\0\0\xff\xff\xff\xff"s), labels("\x03\x09"s));
  const DataParts parts = open_dataset({"mnist:" + folder.path().string(), ""});
  const DataInfo& info = parts.train->info();
  EXPECT_EQ(info.size, 2);
  EXPECT_EQ(info.classes, 10);
  EXPECT_EQ(info.fields[0].shape, (Shape{1, 2, 2}));
  EXPECT_EQ(parts.test, nullptr);
  const Batch batch = make_batch(info, 3);
  const std::int64_t indices[] = {1, 0};
  parts.train->gather(indices, 0, batch.fields);
  const auto pixels = batch.fields[0].values<float>();
  EXPECT_NEAR(pixels[0], 1, 1e-6);  // Mean and deviation of half black, half white are 0.5.
  EXPECT_NEAR(pixels[4], -1, 1e-6);
  EXPECT_EQ(pixels[8], 0);
  EXPECT_EQ(batch.fields[1].values<std::int32_t>()[0], 9);
  EXPECT_EQ(batch.fields[1].values<std::int32_t>()[2], 0);
}

TEST(Mnist, RefusesALabelOutOfRange) {
  TestFolder folder;
  write_train(folder, images(2, std::string(8, 'x')), labels("\x03\x0a"s));
  EXPECT_NE(mnist_message(folder).find("byte 9: expected a label from 0 to 9, found 10"), std::string::npos);
  EXPECT_EQ(open_dataset({"mnist:" + folder.path().string() + ",classes=11", ""}).train->info().classes, 11);
}

TEST(Mnist, RefusesImagesAndLabelsThatDoNotMatch) {
  TestFolder folder;
  write_train(folder, images(2, std::string(8, 'x')), labels("\x03\x01\x02"s));
  EXPECT_NE(mnist_message(folder).find("2 images, but 3 labels beside them"), std::string::npos);
}

TEST(Mnist, RefusesANanPixel) {
  TestFolder folder;
  const auto word = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
  write_train(folder, "\0\0\x0d\x03"s + number(1) + number(1) + number(2) + number(0) + number(word),
              labels("\x03"s));
  EXPECT_NE(mnist_message(folder).find("byte 20: expected a finite pixel, found nan"), std::string::npos);
}

TEST(Mnist, ReadsFloatPixels) {
  TestFolder folder;
  const auto one = number(std::bit_cast<std::uint32_t>(1.0F));
  write_train(folder, "\0\0\x0d\x03"s + number(1) + number(1) + number(2) + number(0) + one, labels("\x03"s));
  const DataParts parts = open_dataset({"mnist:" + folder.path().string(), ""});
  EXPECT_FLOAT_EQ(parts.train->info().mean[0], 0.5F);
}

TEST(Mnist, RefusesImagesWithoutPixels) {
  TestFolder folder;
  write_train(folder, images(0, ""), labels(""));
  EXPECT_NE(mnist_message(folder).find("no pixels in images of shape [0,2,2]"), std::string::npos);
}

TEST(Mnist, SaysWhichFileIsMissing) {
  TestFolder folder;
  EXPECT_NE(mnist_message(folder).find("no file train-images-idx3-ubyte or train-images-idx3-ubyte.gz"),
            std::string::npos);
  folder.write("train-images-idx3-ubyte", images(1, "abcd"));
  EXPECT_NE(mnist_message(folder).find("no file train-labels-idx1-ubyte"), std::string::npos);
  EXPECT_THROW(open_dataset({"mnist:/no/such/folder", ""}), DataError);
}

TEST(Mnist, ReadsRealTestImages) {
  HOCKET_REAL_FILE(images_path, "image/t10k-images-idx3-ubyte.gz");
  HOCKET_REAL_FILE(labels_path, "image/t10k-labels-idx1-ubyte.gz");
  const TestFolder folder;
  std::filesystem::copy_file(images_path, folder.path() / "train-images-idx3-ubyte.gz");
  std::filesystem::copy_file(labels_path, folder.path() / "train-labels-idx1-ubyte.gz");
  const DataParts parts = open_dataset({"mnist:" + folder.path().string(), ""});
  EXPECT_EQ(parts.train->info().size, 10000);
  EXPECT_NEAR(parts.train->info().mean[0], 0.2868, 1e-4);
}

TEST(FashionMnist, SaysHowToGetIt) {
  const TestFolder folder;
  ::setenv("HOCKET_FASHION_MNIST", folder.file("none").c_str(), 1);
  const std::string message = message_of<DataError>([] { open_dataset({"fashion-mnist", ""}); });
  ::unsetenv("HOCKET_FASHION_MNIST");
  EXPECT_NE(message.find("apt install dataset-fashion-mnist"), std::string::npos);
}

TEST(FashionMnist, ReadsThePackage) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const DataParts parts = open_dataset({"fashion-mnist", ""});
  EXPECT_EQ(parts.train->info().size, 60000);
  EXPECT_EQ(parts.test->info().size, 10000);
  EXPECT_EQ(parts.train->info().fields[0].shape, (Shape{1, 28, 28}));
}

}  // namespace
}  // namespace hocket
