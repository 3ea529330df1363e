#include "data/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "data/test_files.h"

namespace hocket {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows read_all(std::string_view text, char separator = ',') {
  CsvReader reader("x", text, separator);
  std::vector<std::string_view> fields;
  Rows rows;
  while (reader.next(fields)) rows.emplace_back(fields.begin(), fields.end());
  return rows;
}

TEST(Csv, ReadsPlainFields) {
  EXPECT_EQ(read_all("a,b\nc, d \n"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(read_all("a,b\r\nc,d"), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(read_all("a;b", ';'), (Rows{{"a", "b"}}));
  EXPECT_EQ(read_all("a\t\tb", '\t'), (Rows{{"a", "", "b"}}));
  EXPECT_EQ(read_all("\xef\xbb\xbfname,b"), (Rows{{"name", "b"}}));
}

TEST(Csv, KeepsEmptyFieldsAndSkipsBlankLines) {
  EXPECT_EQ(read_all(",a,,\n\n  \n,,,"), (Rows{{"", "a", "", ""}, {"", "", "", ""}}));
  EXPECT_EQ(read_all(""), Rows{});
  EXPECT_EQ(read_all("\n \r\n"), Rows{});
}

TEST(Csv, ReadsQuotedFields) {
  EXPECT_EQ(read_all("\"a,b\",\"c\nd\",\"say \"\"hi\"\"\" , \"\"\n1,2,3,4"),
            (Rows{{"a,b", "c\nd", "say \"hi\"", ""}, {"1", "2", "3", "4"}}));
}

TEST(Csv, CountsLinesInsideQuotes) {
  CsvReader reader("x", "\"a\n\nb\"\n\nc");
  std::vector<std::string_view> fields;
  reader.next(fields);
  EXPECT_EQ(reader.line(), 1);
  reader.next(fields);
  EXPECT_EQ(reader.line(), 5);
}

TEST(Csv, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(message_of<DataError>([] { read_all("a\n\"b\nc"); }),
            "x: line 2: expected a closing quote, found the end of the file");
  EXPECT_EQ(message_of<DataError>([] { read_all("\"a\"b"); }),
            "x: line 1: expected a separator after the closing quote, found 'b'");
}

RC_GTEST_PROP(Csv, ReadsBackWhatWasQuoted, ()) {
  const auto field = rc::gen::container<std::string>(rc::gen::element('a', ',', '"', '\n', ' ', '\r'));
  const auto row = rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(field));
  const auto rows = *rc::gen::resize(12, rc::gen::container<Rows>(row));
  std::string text;
  for (const auto& fields : rows) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : fields[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += '\n';
  }
  RC_ASSERT(read_all(text) == rows);
}

}  // namespace
}  // namespace hocket
