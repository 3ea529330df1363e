#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// Reads CSV text record by record: fields in quotes may hold separators, line ends and doubled quotes; blanks
// around a field and blank lines are skipped. Used by one thread. Throws DataError with the line.
class CsvReader {
 public:
  // `name` is for messages; both must outlive the reader.
  CsvReader(std::string_view name, std::string_view text, char separator = ',');

  // Puts the next record in `fields`; they are valid until the next call. False at the end of the text.
  bool next(std::vector<std::string_view>& fields);

  // The line on which the last record starts, from 1 on.
  std::int64_t line() const { return record_line_; }

  void skip_lines(std::int64_t count);

 private:
  std::string_view read_plain();
  std::string_view read_quoted();
  void skip_blanks();
  bool at_line_end() const { return at_ == text_.size() || text_[at_] == '\n' || text_[at_] == '\r'; }
  void skip_line_end();

  std::string_view name_;
  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 0;
  std::deque<std::string> unescaped_;  // Fields of the record that had doubled quotes.
};

}  // namespace hocket
