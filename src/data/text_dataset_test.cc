#include "data/text_dataset.h"

#include <gtest/gtest.h>

#include <set>

#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i * i % 26);
  return text;
}

std::string window(const Dataset& data, std::int64_t index, std::int64_t epoch, std::size_t field) {
  const Batch batch = make_batch(data.info(), 1);
  data.gather({&index, 1}, epoch, batch.fields);
  std::string text;
  for (const std::int32_t symbol : batch.fields[field].values<std::int32_t>())
    text += static_cast<char>(symbol);
  return text;
}

TEST(Text, WindowsCoverTheTextAndLabelsAreOneAhead) {
  const TestFolder folder;
  const std::string text = letters(1000);
  const DataParts parts = open_dataset({"text:" + folder.write("t", text) + ",context=16", ""});
  EXPECT_EQ(parts.train->info().task, Task::language);
  EXPECT_EQ(parts.train->info().classes, 256);
  EXPECT_EQ(window(*parts.train, 0, 0, 0), text.substr(0, 16));
  EXPECT_EQ(window(*parts.train, 0, 0, 1), text.substr(1, 16));
  EXPECT_EQ(window(*parts.train, 3, 0, 0), text.substr(48, 16));
}

TEST(Text, HoldsOutTheEnd) {
  const TestFolder folder;
  const std::string text = letters(1000);
  const std::string path = folder.write("t", text);
  const DataParts parts = open_dataset({"text:" + path + ",context=16", ""});
  EXPECT_EQ(window(*parts.test, 0, 0, 0), text.substr(900, 16));
  EXPECT_EQ(parts.test->info().size, 6);
  EXPECT_EQ(window(*parts.test, 5, 0, 1), text.substr(900 + 81, 16));
  // Training windows stay in front of it, however an epoch moves them.
  const std::int64_t last = parts.train->info().size - 1;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) {
    const std::string labels = window(*parts.train, last, epoch, 1);
    EXPECT_NE(text.substr(0, 900).find(labels), std::string::npos);
  }
  EXPECT_EQ(open_dataset({"text:" + path + ",holdout=0", ""}).test, nullptr);
}

TEST(Text, EpochsMoveTheWindows) {
  const std::string text = letters(1000);
  const TextDataset data("t", std::as_bytes(std::span(text)), nullptr, 16, true);
  std::set<std::string> seen;
  for (std::int64_t epoch = 0; epoch < 50; ++epoch) seen.insert(window(data, 2, epoch, 0));
  EXPECT_GT(seen.size(), 8U);
  EXPECT_EQ(window(data, 2, 7, 0), window(data, 2, 7, 0));
}

TEST(Text, ReadsAnotherFileForTesting) {
  const TestFolder folder;
  const DataParts parts = open_dataset(
      {"text:" + folder.write("a", letters(100)) + ",context=8", "text:" + folder.write("b", letters(33))});
  EXPECT_EQ(parts.train->info().bytes, 100);
  EXPECT_EQ(parts.test->info().size, 4);
}

TEST(Text, RefusesATextThatIsTooShort) {
  const TestFolder folder;
  const std::string path = folder.write("t", "short");
  EXPECT_EQ(message_of<DataError>([&] {
              open_dataset({"text:" + path, ""});
            }),
            "t: expected at least 129 bytes, a window of context=128 and its next byte, found 5");
  EXPECT_EQ(open_dataset({"text:" + path + ",context=4,holdout=0", ""}).train->info().size, 1);
}

TEST(Text, ReadsShakespeare) {
  HOCKET_REAL_FILE(path, "text/tinyshakespeare.txt");
  const DataParts parts = open_dataset({"text:" + path, ""});
  EXPECT_EQ(parts.train->info().bytes + parts.test->info().bytes, 1115394);
  EXPECT_EQ(parts.test->info().size, 871);
  EXPECT_EQ(window(*parts.train, 0, 0, 0).substr(0, 14), "First Citizen:");
}

}  // namespace
}  // namespace hocket
