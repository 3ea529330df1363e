#include "data/image_folder.h"

#include <gtest/gtest.h>

#include "data/describe.h"
#include "data/image_codec.h"
#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

void write_png(const TestFolder& folder, std::string_view name, int height, int width, std::uint8_t grey) {
  Image image{1, height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(height * width), grey)};
  const auto bytes = encode_png(image);
  folder.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TEST(ImageFolder, FoldersAreClasses) {
  const TestFolder folder;
  write_png(folder, "dogs/1.png", 4, 6, 255);
  write_png(folder, "cats/2.PNG", 4, 6, 0);
  write_png(folder, "cats/1.png", 4, 6, 0);
  folder.write("cats/notes.txt", "no image");
  const DataParts parts = open_dataset({"image-folder:" + folder.path().string(), ""});
  const DataInfo& info = parts.train->info();
  EXPECT_EQ(info.size, 3);
  EXPECT_EQ(info.class_names, (std::vector<std::string>{"cats", "dogs"}));
  EXPECT_EQ(info.fields[0].shape, (Shape{1, 4, 6}));
  EXPECT_EQ(parts.test, nullptr);
  EXPECT_EQ(describe(*parts.train).histogram, (std::vector<std::int64_t>{2, 1}));
  EXPECT_NEAR(describe(*parts.train).mean, 0, 1e-5);
  EXPECT_NEAR(describe(*parts.train).deviation, 1, 1e-5);
}

TEST(ImageFolder, TrainAndTestFoldersAreParts) {
  const TestFolder folder;
  for (const char* name :
       {"train/a/1.png", "train/b/1.png", "test/a/1.png", "test/b/1.png", "test/b/2.png"}) {
    write_png(folder, name, 4, 4, 9);
  }
  const DataParts parts = open_dataset({"image-folder:" + folder.path().string(), ""});
  EXPECT_EQ(parts.train->info().size, 2);
  EXPECT_EQ(parts.test->info().size, 3);
  write_png(folder, "test/c/1.png", 4, 4, 9);
  EXPECT_THROW(open_dataset({"image-folder:" + folder.path().string(), ""}), DataError);
}

TEST(ImageFolder, WantsOneSizeUnlessToldToScale) {
  const TestFolder folder;
  write_png(folder, "a/1.png", 4, 4, 9);
  write_png(folder, "b/1.png", 8, 6, 9);
  const std::string text = "image-folder:" + folder.path().string();
  EXPECT_EQ(
      message_of<DataError>([&] {
        open_dataset({text, ""});
      }),
      folder.file("b/1.png") +
          ": expected an image of 4 x 4 pixels, as the first one, found 8 x 6 (option size=HxW scales)");
  EXPECT_EQ(open_dataset({text + ",size=5", ""}).train->info().fields[0].shape, (Shape{1, 5, 5}));
  EXPECT_EQ(open_dataset({text + ",size=5x7,channels=3", ""}).train->info().fields[0].shape,
            (Shape{3, 5, 7}));
  for (const char* size : {"0", "5x", "x5", "5x5x5", "big"}) {
    EXPECT_THROW(open_dataset({text + ",size=" + size, ""}), ConfigError) << size;
  }
  EXPECT_THROW(open_dataset({text + ",channels=2", ""}), ConfigError);
}

TEST(ImageFolder, NamesTheFileThatCannotBeDecoded) {
  const TestFolder folder;
  for (int i = 0; i < 300; ++i) write_png(folder, fmt::format("a/{:03}.png", i), 2, 2, 9);
  write_png(folder, "b/1.png", 2, 2, 9);
  const DataParts parts = open_dataset({"image-folder:" + folder.path().string(), ""});
  folder.write("a/001.png", "no image at all");
  folder.write("a/007.png", "");
  const auto problems = check(*parts.train);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0], folder.file("a/001.png") +
                             ": byte 0: expected the first bytes of a PNG or JPEG file, found others");
  EXPECT_EQ(problems[1], folder.file("a/007.png") + ": the file is empty");
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const TestFolder folder;
  EXPECT_THROW(open_dataset({"image-folder:" + folder.path().string(), ""}), DataError);
  folder.write("a/x.txt", "");
  folder.write("b/x.txt", "");
  EXPECT_EQ(message_of<DataError>([&] {
              open_dataset({"image-folder:" + folder.path().string(), ""});
            }),
            folder.path().string() + ": no PNG or JPEG files in the class folders");
  EXPECT_THROW(open_dataset({"image-folder:" + folder.file("a/x.txt"), ""}), DataError);
}

}  // namespace
}  // namespace hocket
