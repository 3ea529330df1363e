#include "data/libsvm.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

std::string libsvm_message(std::string_view text) {
  return message_of<DataError>([&] { parse_libsvm("x", text); });
}

TEST(Libsvm, ReadsRows) {
  const SparseRows rows =
      parse_libsvm("x", "+1 1:0.5 3:-2e1 # a comment\r\n\n# only a comment\n-1\n  2.5\t7:1  \n-1 2:3");
  EXPECT_EQ(rows.labels, (std::vector<float>{1, -1, 2.5F, -1}));
  EXPECT_EQ(rows.offsets, (std::vector<std::int64_t>{0, 2, 2, 3, 4}));
  EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{0, 2, 6, 1}));
  EXPECT_EQ(rows.values, (std::vector<float>{0.5F, -20, 1, 3}));
}

TEST(Libsvm, StoresNoValuesWhereAllAreOne) {
  EXPECT_TRUE(parse_libsvm("x", "1 1:1 5:1\n0 2:1.0\n").values.empty());
  EXPECT_EQ(parse_libsvm("x", "1 1:1 5:1\n0 2:3\n").values, (std::vector<float>{1, 1, 3}));
}

TEST(Libsvm, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(libsvm_message("1 1:1\n1 0:1\n"), "x: line 2: expected indices from 1 on, found index 0");
  EXPECT_EQ(libsvm_message("1 5:1 3:1\n"), "x: line 1: expected ascending indices, found 3 after 5");
  EXPECT_EQ(libsvm_message("1 5:1 5:1\n"), "x: line 1: expected ascending indices, found 5 after 5");
  EXPECT_EQ(libsvm_message("# c\n\n1 1:nan"), "x: line 3: expected a finite number, found 'nan'");
  EXPECT_EQ(libsvm_message("1 1:1e99"), "x: line 1: expected a finite number, found '1e99'");
  EXPECT_EQ(libsvm_message("nan 1:1"), "x: line 1: expected a finite number, found 'nan'");
  EXPECT_EQ(libsvm_message("cat 1:1"), "x: line 1: expected a label, found 'cat'");
  EXPECT_EQ(libsvm_message("1 qid:3 1:1"), "x: line 1: expected index:value, found 'qid:3'");
  EXPECT_EQ(libsvm_message("1 12"), "x: line 1: expected index:value, found '12'");
  EXPECT_EQ(libsvm_message("1 12:"), "x: line 1: expected a value, found ''");
  EXPECT_EQ(libsvm_message("1 1:2x"), "x: line 1: expected a value, found '2x'");
  EXPECT_EQ(libsvm_message("1 -1:2"), "x: line 1: expected index:value, found '-1:2'");
  EXPECT_EQ(libsvm_message("1 99999999999999999999:2"),
            "x: line 1: expected an index below 2^31, found '99999999999999999999:2'");
  EXPECT_EQ(libsvm_message("\n\n"), "x: expected rows of 'label index:value …', found none");
  EXPECT_EQ(libsvm_message(""), "x: expected rows of 'label index:value …', found none");
}

RC_GTEST_PROP(Libsvm, ReadsBackWhatWasWritten, ()) {
  std::string text;
  SparseRows expected;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    expected.labels.push_back(static_cast<float>(*rc::gen::inRange(-3, 4)));
    text += fmt::format("{}", expected.labels.back());
    int column = 0;
    for (int k = *rc::gen::inRange(0, 6); k > 0; --k) {
      column += *rc::gen::inRange(1, 1000);
      expected.columns.push_back(column - 1);
      expected.values.push_back(static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 8);
      text += fmt::format(" {}:{}", column, expected.values.back());
    }
    expected.offsets.push_back(static_cast<std::int64_t>(expected.columns.size()));
    text += "\n";
  }
  const SparseRows found = parse_libsvm("x", text);
  RC_ASSERT(found.labels == expected.labels);
  RC_ASSERT(found.offsets == expected.offsets);
  RC_ASSERT(found.columns == expected.columns);
  if (!found.values.empty()) RC_ASSERT(found.values == expected.values);
}

TEST(Libsvm, GathersPackedRows) {
  const TestFolder folder;
  const std::string path = folder.write("rows", "1 1:2 4:3\n-1 2:5\n-1\n");
  const DataParts parts = open_dataset({"libsvm:" + path, ""});
  const DataInfo& info = parts.train->info();
  EXPECT_EQ(info.task, Task::binary);
  EXPECT_EQ(info.features, 4);
  EXPECT_EQ(info.max_nonzeros, 2);
  const Batch batch = make_batch(info, 4);
  const std::int64_t indices[] = {1, 0};
  parts.train->gather(indices, 0, batch.fields);
  const auto values = batch.fields[0].values<float>();
  const auto columns = batch.fields[1].values<std::int32_t>();
  const auto offsets = batch.fields[2].values<std::int32_t>();
  EXPECT_EQ(std::vector(values.begin(), values.end()), (std::vector<float>{5, 2, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector(columns.begin(), columns.end()), (std::vector<std::int32_t>{1, 0, 3, 0, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector(offsets.begin(), offsets.end()), (std::vector<std::int32_t>{0, 1, 3, 3, 3}));
  EXPECT_EQ(batch.fields[3].values<float>()[0], 0);
  EXPECT_EQ(batch.fields[3].values<float>()[1], 1);
}

TEST(Libsvm, ReadsTheTestFileByTheRulesOfTheTrainingFile) {
  const TestFolder folder;
  const std::string train = folder.write("train", "1 1:2 4:3\n-1 2:5\n");
  const std::string test = folder.write("test", "1 1:1 2:1 3:1 9:1\n");
  const DataParts parts = open_dataset({"libsvm:" + train, "libsvm:" + test});
  EXPECT_EQ(parts.test->info().features, 4);
  EXPECT_EQ(parts.train->info().max_nonzeros,
            3);  // Column 9 has no weight; the others fit one shape of batch.
  const std::string other = folder.write("other", "1 1:1\n3 1:1\n");
  EXPECT_EQ(message_of<DataError>([&] {
              open_dataset({"libsvm:" + train, "libsvm:" + other});
            }),
            other + ": row 2: expected a label of the training data (-1, 1), found 3");
}

TEST(Libsvm, RefusesAFileOfLabelsAlone) {
  const TestFolder folder;
  const std::string path = folder.write("rows", "1\n-1\n");
  EXPECT_EQ(message_of<DataError>([&] {
              open_dataset({"libsvm:" + path, ""});
            }),
            path + ": expected at least one index:value, found none");
}

TEST(Libsvm, ReadsA9a) {
  HOCKET_REAL_FILE(train, "sparse/a9a");
  HOCKET_REAL_FILE(test, "sparse/a9a.t");
  const DataParts parts = open_dataset({"libsvm:" + train, "libsvm:" + test});
  const DataInfo& info = parts.train->info();
  EXPECT_EQ(info.size, 32561);
  EXPECT_EQ(info.features, 123);
  EXPECT_EQ(info.max_nonzeros, 14);
  EXPECT_EQ(info.task, Task::binary);
  EXPECT_EQ(parts.test->info().size, 16281);
  const Batch batch = make_batch(info, info.size);
  std::vector<std::int64_t> all(static_cast<std::size_t>(info.size));
  std::iota(all.begin(), all.end(), 0);
  parts.train->gather(all, 0, batch.fields);
  const auto labels = batch.fields[3].values<float>();
  EXPECT_EQ(std::accumulate(labels.begin(), labels.end(), 0.0), 7841);
}

}  // namespace
}  // namespace hocket
