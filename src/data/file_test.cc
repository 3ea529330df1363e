#include "data/file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "data/test_files.h"

namespace hocket {
namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{} ", i * i % 9973);
  return text;
}

TEST(FileBytes, ReadsPlainAndGzipAlike) {
  const TestFolder folder;
  const std::string text = some_text();
  EXPECT_EQ(FileBytes(folder.write("plain", text)).text(), text);
  EXPECT_EQ(FileBytes(folder.write("packed.gz", gzip(text))).text(), text);
  EXPECT_EQ(FileBytes(folder.write("two.gz", gzip(text) + gzip("tail"))).text(), text + "tail");
}

TEST(FileBytes, SaysWhereAGzipFileIsCut) {
  const TestFolder folder;
  const std::string whole = gzip(some_text());
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{12}, std::size_t{3}}) {
    const std::string path = folder.write("cut.gz", whole.substr(0, size));
    EXPECT_EQ(message_of<DataError>([&] { FileBytes{path}; }),
              fmt::format("{}: truncated gzip: the file ends at byte {}, inside the stream", path, size));
  }
}

TEST(FileBytes, SaysWhereAGzipFileIsDamaged) {
  const TestFolder folder;
  std::string bytes = gzip(some_text());
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  const std::string path = folder.write("bad.gz", bytes);
  EXPECT_NE(message_of<DataError>([&] { FileBytes{path}; }).find(path + ": damaged gzip at byte "),
            std::string::npos);
}

TEST(FileBytes, DoesNotBelieveTheClaimedSize) {
  std::string bytes = gzip("short");
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_THROW(gunzip("claim.gz", std::as_bytes(std::span(bytes))), DataError);
}

TEST(FileBytes, NamesWhatCannotBeRead) {
  const TestFolder folder;
  EXPECT_EQ(message_of<DataError>([&] { FileBytes{folder.file("none")}; }),
            folder.file("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(message_of<DataError>([&] { FileBytes{folder.path()}; }),
            folder.path().string() + ": is a directory, expected a file");
  EXPECT_EQ(message_of<DataError>([&] { FileBytes{folder.write("empty", "")}; }),
            folder.file("empty") + ": the file is empty");
  EXPECT_THROW(FileBytes(folder.write("empty.gz", gzip(""))), DataError);
  EXPECT_THROW(FileBytes("/dev/null"), DataError);
}

TEST(FileWriter, LeavesAWholeFileOrNone) {
  const TestFolder folder;
  const std::string path = folder.write("out", "before");
  {
    FileWriter abandoned(path);
    abandoned.append("half");
  }
  EXPECT_EQ(FileBytes(path).text(), "before");
  FileWriter writer(path);
  const std::string text = some_text();
  for (int i = 0; i < 30; ++i) writer.append(text);
  writer.commit();
  EXPECT_EQ(FileBytes(path).bytes().size(), 30 * text.size());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(FileWriter, NamesWhatCannotBeWritten) {
  EXPECT_EQ(message_of<Error>([] { FileWriter("/no/such/folder/file"); }),
            "/no/such/folder/file: cannot create: No such file or directory");
}

}  // namespace
}  // namespace hocket
