#include "data/csv.h"

#include <algorithm>

#include "base/error.h"
#include "data/number.h"

namespace hocket {

CsvReader::CsvReader(std::string_view name, std::string_view text, char separator)
    : name_(name), text_(text), separator_(separator) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) at_ = kByteOrderMark.size();
}

bool CsvReader::next(std::vector<std::string_view>& fields) {
  fields.clear();
  unescaped_.clear();
  for (skip_blanks(); at_ < text_.size() && at_line_end(); skip_blanks()) skip_line_end();
  if (at_ == text_.size()) return false;
  record_line_ = line_;
  while (true) {
    fields.push_back(text_.substr(at_, 1) == "\"" ? read_quoted() : read_plain());
    if (at_line_end()) break;
    ++at_;  // The separator.
    skip_blanks();
  }
  skip_line_end();
  return true;
}

void CsvReader::skip_lines(std::int64_t count) {
  for (; count > 0 && at_ < text_.size(); --count) {
    at_ = std::min(text_.find('\n', at_), text_.size());
    skip_line_end();
  }
}

void CsvReader::skip_blanks() {
  while (at_ < text_.size() && text_[at_] != separator_ && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

// One of "\n", "\r\n" and "\r", where there is one.
void CsvReader::skip_line_end() {
  if (at_ == text_.size()) return;
  if (text_[at_] == '\r' && text_.substr(at_ + 1, 1) == "\n") ++at_;
  ++at_;
  ++line_;
}

std::string_view CsvReader::read_plain() {
  const std::size_t start = at_;
  while (!at_line_end() && text_[at_] != separator_) ++at_;
  std::size_t stop = at_;
  while (stop > start && (text_[stop - 1] == ' ' || text_[stop - 1] == '\t')) --stop;
  return text_.substr(start, stop - start);
}

std::string_view CsvReader::read_quoted() {
  const std::size_t start = ++at_;
  const std::int64_t start_line = line_;
  bool has_doubled = false;
  for (; text_.substr(at_, 1) != "\"" || text_.substr(at_, 2) == "\"\""; ++at_) {
    if (at_ == text_.size())
      throw DataError("{}: line {}: expected a closing quote, found the end of the file", name_, start_line);
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] == '"') {
      has_doubled = true;
      ++at_;
    }
  }
  std::string_view field = text_.substr(start, at_ - start);
  ++at_;
  skip_blanks();
  if (!at_line_end() && text_[at_] != separator_) {
    throw DataError("{}: line {}: expected a separator after the closing quote, found {}", name_, line_,
                    in_quotes(text_.substr(at_, 1)));
  }
  if (!has_doubled) return field;
  std::string& plain = unescaped_.emplace_back();
  for (std::size_t i = 0; i < field.size(); ++i) {
    plain += field[i];
    if (field[i] == '"') ++i;
  }
  return plain;
}

}  // namespace hocket
