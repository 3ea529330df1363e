#include "data/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/describe.h"
#include "data/open.h"
#include "data/test_files.h"

namespace hocket {
namespace {

constexpr std::string_view kSmall = "age,city,income\n20,Bern,low\n40,Rome,high\n,?,low\n";

std::vector<ColumnKind> kinds_of(std::string_view text, const TableOptions& options = {}) {
  std::vector<ColumnKind> kinds;
  for (const TableColumn& column : infer_schema("x", text, options).columns) kinds.push_back(column.kind);
  return kinds;
}

std::string table_message(std::string_view text, const TableOptions& options = {}) {
  return message_of<DataError>([&] { read_table("x", text, infer_schema("x", text, options)); });
}

TEST(Table, FindsKindsMeansAndLabels) {
  const TableSchema schema = infer_schema("x", kSmall, {});
  EXPECT_TRUE(schema.has_header);
  EXPECT_EQ(schema.columns[0].kind, ColumnKind::numeric);
  EXPECT_EQ(schema.columns[1].kind, ColumnKind::categorical);
  EXPECT_EQ(schema.columns[2].kind, ColumnKind::label);
  EXPECT_DOUBLE_EQ(schema.columns[0].mean, 30);
  EXPECT_DOUBLE_EQ(schema.columns[0].deviation, 10);
  EXPECT_EQ(schema.label_names, (std::vector<std::string>{"high", "low"}));
  EXPECT_EQ(schema.labels.task(), Task::binary);
}

TEST(Table, StandardisesHashesAndFillsInTheMean) {
  const Table table = read_table("x", kSmall, infer_schema("x", kSmall, {}));
  EXPECT_EQ(table.numeric, (std::vector<float>{-1, 1, 0}));
  EXPECT_EQ(table.labels, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(table.category.size(), 3U);
  EXPECT_NE(table.category[0], table.category[1]);
  for (const std::int32_t bucket : table.category) EXPECT_TRUE(bucket >= 0 && bucket < 1 << 16);
}

TEST(Table, SameWordInTwoColumnsIsTwoCategories) {
  const std::string_view text = "a,a,1\nb,b,0\n";
  const Table table = read_table("x", text, infer_schema("x", text, {}));
  EXPECT_NE(table.category[0], table.category[1]);
}

TEST(Table, TellsAHeaderFromARow) {
  EXPECT_FALSE(infer_schema("x", "1,2,0\n3,4,1\n", {}).has_header);
  EXPECT_FALSE(infer_schema("x", "red,1\nblue,0\n", {}).has_header);
  EXPECT_TRUE(infer_schema("x", "colour,n\nblue,0\nred,1\n", {}).has_header);
  TableOptions options;
  options.header = true;
  EXPECT_TRUE(infer_schema("x", "1,2,0\n3,4,1\n", options).has_header);
}

TEST(Table, TakesColumnsByNameOrNumber) {
  TableOptions options;
  options.label = "age";
  EXPECT_EQ(kinds_of("age,city\n1,Bern\n2,Rome\n", options)[0], ColumnKind::label);
  options.label = "2";
  EXPECT_EQ(kinds_of("1,a,3\n2,b,4\n", options)[1], ColumnKind::label);
  options.label = "";
  options.categorical = {"age"};
  options.ignore = {"city"};
  EXPECT_EQ(kinds_of(kSmall, options),
            (std::vector{ColumnKind::categorical, ColumnKind::ignored, ColumnKind::label}));
  options.categorical = {"cty"};
  EXPECT_EQ(message_of<ConfigError>([&] { kinds_of(kSmall, options); }),
            "x: no column 'cty' among 3; did you mean city?");
}

TEST(Table, KnowsTheUsualNames) {
  EXPECT_EQ(kinds_of("Id,Label,x\n1,0,3\n2,1,4\n"),
            (std::vector{ColumnKind::ignored, ColumnKind::label, ColumnKind::numeric}));
}

TEST(Table, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(table_message("1,2,0\n3,4\n"), "x: line 2: expected 3 fields, as in line 1, found 2");
  EXPECT_EQ(table_message("1\n2\n"), "x: line 1: expected at least 2 columns, found 1");
  EXPECT_EQ(table_message(""), "x: expected rows of CSV, found none");
  EXPECT_EQ(table_message("a,b\n1,\n"), "x: line 2: expected a label, found ''");
  EXPECT_EQ(table_message("1,0\nnan,1\n"), "x: line 2: column 1: expected a finite number, found 'nan'");
  EXPECT_EQ(table_message("1,0\n2,inf\n"), "x: line 2: expected a finite label, found 'inf'");
  TableOptions options;
  options.numeric = {"1"};
  EXPECT_EQ(table_message("1,0\nx,1\n", options), "x: line 2: column 1: expected a number, found 'x'");
  options = {};
  options.header = true;
  EXPECT_EQ(table_message("a,b\n", options), "x: expected rows of CSV below the header, found none");
}

TEST(Table, TakesARareWordAmongNumbersForAMistake) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += fmt::format("{},{}\n", i, i % 2);
  text += "4O,1\n";
  EXPECT_EQ(table_message(text),
            "x: line 41: column 1: expected a number, as in 40 of 41 rows, found '4O' (option categorical=1 "
            "makes it a category)");
}

TEST(Table, ReadsAnotherFileByTheSameRules) {
  const TableSchema schema = infer_schema("x", kSmall, {});
  EXPECT_EQ(read_table("y", "age,city,income\n50,Bern,high\n", schema).numeric, (std::vector<float>{2}));
  EXPECT_EQ(read_table("y", "50,Bern,high\n", schema).numeric, (std::vector<float>{2}));
  EXPECT_EQ(message_of<DataError>([&] { read_table("y", "old,Bern,high\n1,2,low\n", schema); }),
            "y: line 1: expected the column names of the training data, found 'old' …");
  EXPECT_EQ(message_of<DataError>([&] { read_table("y", "50,Bern,mid\n", schema); }),
            "y: line 1: expected a label of the training data (high, low), found 'mid'");
  EXPECT_EQ(message_of<DataError>([&] { read_table("y", "1,2\n", schema); }),
            "y: line 1: expected 3 fields, as in the training data, found 2");
  EXPECT_EQ(message_of<DataError>([&] { read_table("y", "1,2,low\nx,2,low\n", schema); }),
            "y: line 2: column age: expected a number, found 'x'");
}

TEST(CsvData, NumericTablesHaveFeatures) {
  const TestFolder folder;
  const DataParts parts = open_dataset({"csv:" + folder.write("t.csv", "1,2,0\n3,4,1\n5,6,2\n"), ""});
  const DataInfo& info = parts.train->info();
  EXPECT_EQ(info.fields[0].name, "features");
  EXPECT_EQ(info.fields[0].shape, (Shape{2}));
  EXPECT_EQ(info.task, Task::classification);
  EXPECT_EQ(info.classes, 3);
}

TEST(CsvData, SparseLayoutHasColumnsForNumbersAndBuckets) {
  const TestFolder folder;
  const DataParts parts =
      open_dataset({"csv:" + folder.write("t.csv", kSmall) + ",layout=sparse,buckets=8", ""});
  const DataInfo& info = parts.train->info();
  EXPECT_EQ(info.features, 9);
  EXPECT_EQ(info.max_nonzeros, 2);
  EXPECT_TRUE(check(*parts.train).empty());
}

TEST(CsvData, ReadsAdult) {
  HOCKET_REAL_FILE(train, "ctr/adult.data");
  HOCKET_REAL_FILE(test, "ctr/adult.test");
  const DataParts parts = open_dataset({"csv:" + train, "csv:" + test});
  const DataDescription description = describe(*parts.train);
  EXPECT_EQ(description.info.size, 32561);
  EXPECT_EQ(description.info.class_names, (std::vector<std::string>{"<=50K", ">50K"}));
  EXPECT_EQ(description.histogram, (std::vector<std::int64_t>{24720, 7841}));
  EXPECT_EQ(description.info.fields[0].shape, (Shape{6}));
  EXPECT_EQ(description.info.fields[1].shape, (Shape{8}));
  EXPECT_NEAR(description.mean, 0, 1e-4);
  EXPECT_NEAR(description.deviation, 1, 1e-3);
  EXPECT_EQ(describe(*parts.test).histogram, (std::vector<std::int64_t>{12435, 3846}));
}

TEST(CsvData, ReadsCriteo) {
  HOCKET_REAL_FILE(path, "ctr/criteo-tiny.csv");
  const DataParts parts = open_dataset({"csv:" + path, ""});
  const DataDescription description = describe(*parts.train);
  EXPECT_EQ(description.info.size, 1999);
  EXPECT_EQ(description.histogram[1], 418);
  EXPECT_EQ(description.info.fields[0].shape, (Shape{13}));
  EXPECT_EQ(description.info.fields[1].shape, (Shape{26}));
  EXPECT_TRUE(check(*parts.train).empty());
}

}  // namespace
}  // namespace hocket
