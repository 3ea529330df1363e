#include "data/libsvm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "data/file.h"
#include "data/number.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// One pass over the text; what is read goes straight into the compressed rows. Every line that parse_lines()
// is given ends with a newline, which stops every loop, so that no other end needs checking.
class LibsvmParser {
 public:
  explicit LibsvmParser(std::string_view name) : name_(name) {}

  SparseRows parse(std::string_view text) {
    rows_.columns.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), ':')));
    const std::size_t whole_lines = text.rfind('\n') + 1;
    parse_lines(text.substr(0, whole_lines));
    parse_lines(std::string(text.substr(whole_lines)) + '\n');
    if (rows_.labels.empty())
      throw DataError("{}: expected rows of 'label index:value …', found none", name_);
    return std::move(rows_);
  }

 private:
  void parse_lines(std::string_view lines) {
    end_ = lines.data() + lines.size();
    for (const char* at = lines.data(); at < end_; ++line_) {
      at = skip_blanks(at);
      if (!is_line_end(*at)) at = parse_row(at);
      if (*at == '#') at = std::find(at, end_, '\n');
      ++at;
    }
  }

  static bool is_line_end(char c) { return c == '\n' || c == '#'; }

  static const char* skip_blanks(const char* at) {
    while (is_blank(*at)) ++at;
    return at;
  }

  const char* parse_row(const char* at) {
    float number = 0;
    at = parse_value(at, number, "a label");
    rows_.labels.push_back(number);
    std::int64_t previous = 0;
    for (at = skip_blanks(at); !is_line_end(*at); at = skip_blanks(at)) {
      std::int64_t index = 0;
      at = parse_index(at, index);
      if (index <= previous) fail_order(index, previous);
      previous = index;
      rows_.columns.push_back(static_cast<std::int32_t>(index - 1));
      at = parse_value(at, number, "a value");
      add_value(number);
    }
    rows_.offsets.push_back(static_cast<std::int64_t>(rows_.columns.size()));
    return at;
  }

  // Digits and a colon.
  const char* parse_index(const char* at, std::int64_t& index) const {
    const char* start = at;
    while (is_digit(*at) && index <= kMaxIndex) index = index * 10 + (*at++ - '0');
    if (index > kMaxIndex) fail(start, "an index below 2^31");
    if (at == start || *at != ':') fail(start, "index:value");
    return at + 1;
  }

  // A finite number up to a blank or the end of the line. Most values of sparse data are a single digit.
  const char* parse_value(const char* at, float& value, const char* what) const {
    if (is_digit(at[0]) && (is_blank(at[1]) || at[1] == '\n')) {
      value = static_cast<float>(at[0] - '0');
      return at + 1;
    }
    double number = 0;
    const char* stop = parse_number(at, end_, number);
    if (stop == nullptr || (!is_line_end(*stop) && !is_blank(*stop))) fail(at, what);
    value = static_cast<float>(number);
    if (!std::isfinite(value)) fail(at, "a finite number");
    return stop;
  }

  // Values are stored from the first one on that is not 1.
  void add_value(float value) {
    if (rows_.values.empty()) {
      if (value == 1.0F) return;
      rows_.values.reserve(rows_.columns.capacity());
      rows_.values.assign(rows_.columns.size() - 1, 1.0F);
    }
    rows_.values.push_back(value);
  }

  [[noreturn]] void fail_order(std::int64_t index, std::int64_t previous) const {
    if (index == 0) throw DataError("{}: line {}: expected indices from 1 on, found index 0", name_, line_);
    throw DataError("{}: line {}: expected ascending indices, found {} after {}", name_, line_, index,
                    previous);
  }

  [[noreturn]] void fail(const char* start, std::string_view expected) const {
    const char* stop = std::find_if(start, end_, [](char c) { return is_blank(c) || c == '\n'; });
    throw DataError("{}: line {}: expected {}, found {}", name_, line_, expected,
                    in_quotes({start, static_cast<std::size_t>(stop - start)}));
  }

  std::string_view name_;
  const char* end_ = nullptr;
  std::int64_t line_ = 1;
  SparseRows rows_;
};

SparseRows read_libsvm(const std::string& path) {
  const FileBytes file(path);
  return parse_libsvm(file.name(), file.text());
}

}  // namespace

SparseRows parse_libsvm(std::string_view name, std::string_view text) {
  return LibsvmParser(name).parse(text);
}

DataParts open_libsvm(const DataSource& source, const DataSource* test) {
  SparseRows rows = read_libsvm(source.location);
  const LabelMap labels(source.location, rows.labels, parse_task(source.option("task", "auto")));
  labels.encode(source.location, rows.labels);
  const std::int64_t features = source.integer("features", rows.features(), rows.features(), kMaxIndex);
  if (features == 0) throw DataError("{}: expected at least one index:value, found none", source.location);
  std::int64_t longest = rows.max_nonzeros();

  std::optional<SparseRows> held_out;
  if (test != nullptr) {
    held_out = read_libsvm(test->location);
    labels.encode(test->location, held_out->labels);
    held_out->drop_columns_from(features);
    longest = std::max(longest, held_out->max_nonzeros());  // One shape of batch serves both parts.
  }
  const std::string name = std::filesystem::path(source.location).filename().string();
  DataParts parts;
  parts.train = std::make_unique<SparseDataset>(name, std::move(rows), labels, features, longest);
  if (held_out)
    parts.test = std::make_unique<SparseDataset>(name, *std::move(held_out), labels, features, longest);
  return parts;
}

}  // namespace hocket
