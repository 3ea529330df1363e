#include "data/table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/nearest.h"
#include "base/rng.h"
#include "data/csv.h"
#include "data/number.h"

namespace hocket {
namespace {

using Record = std::vector<std::string_view>;

constexpr std::size_t kMaxLabelNames = 1000;

bool is_missing(std::string_view field) { return field.empty() || field == "?" || field == "NA"; }

bool is_number(std::string_view field) {
  double value = 0;
  return parse_whole_number(field, value);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Names above at least one number, and no number among them.
bool looks_like_header(const Record& first, const Record& second) {
  return std::none_of(first.begin(), first.end(),
                      [](std::string_view f) { return f.empty() || is_number(f); }) &&
         std::any_of(second.begin(), second.end(), is_number);
}

// A label as text: without the dot that the test file of Adult ends its labels with.
std::string_view label_text(std::string_view field) {
  if (!field.empty() && field.back() == '.' && !is_number(field)) field.remove_suffix(1);
  return field;
}

// The position of a column given by name or, from 1 on, by number.
std::size_t find_column(std::string_view name, const std::vector<TableColumn>& columns,
                        std::string_view column) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return i;
    names.push_back(columns[i].name);
  }
  double number = 0;
  if (parse_whole_number(column, number) && number >= 1 && number <= static_cast<double>(columns.size()) &&
      number == std::trunc(number)) {
    return static_cast<std::size_t>(number) - 1;
  }
  throw ConfigError("{}: no column '{}' among {}{}", name, column, columns.size(),
                    did_you_mean(column, names));
}

std::size_t default_label(const std::vector<TableColumn>& columns) {
  for (const char* usual : {"label", "target", "class", "y"}) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (lower(columns[i].name) == usual) return i;
    }
  }
  return columns.size() - 1;
}

// What one pass over a column finds.
struct ColumnScan {
  std::int64_t numbers = 0;
  std::int64_t others = 0;
  std::int64_t first_other_line = 0;
  std::string first_other;
  double shift = 0;  // The first number: sums of differences from it do not cancel.
  double sum = 0;
  double square_sum = 0;

  void add(std::string_view field, std::int64_t line) {
    double value = 0;
    if (!parse_whole_number(field, value)) {
      if (others++ == 0) {
        first_other_line = line;
        first_other = field;
      }
      return;
    }
    if (numbers++ == 0) shift = value;
    sum += value - shift;
    square_sum += (value - shift) * (value - shift);
  }
};

void require_number(std::string_view name, std::int64_t line, const std::string& column,
                    std::string_view field, double& value) {
  if (!parse_whole_number(field, value)) {
    throw DataError("{}: line {}: column {}: expected a number, found {}", name, line, column,
                    in_quotes(field));
  }
  if (!std::isfinite(static_cast<float>(value))) {
    throw DataError("{}: line {}: column {}: expected a finite number, found {}", name, line, column,
                    in_quotes(field));
  }
}

ColumnKind deduced_kind(std::string_view name, const TableColumn& column, const ColumnScan& scan) {
  if (scan.others == 0) return ColumnKind::numeric;
  if (scan.others * 20 > scan.numbers) return ColumnKind::categorical;
  throw DataError(
      "{}: line {}: column {}: expected a number, as in {} of {} rows, found {} (option categorical={} makes "
      "it a category)",
      name, scan.first_other_line, column.name, scan.numbers, scan.numbers + scan.others,
      in_quotes(scan.first_other), column.name);
}

// Reads records of one width.
class Records {
 public:
  Records(std::string_view name, std::string_view text, const TableOptions& options)
      : name_(name), reader_(name, text, options.separator) {
    reader_.skip_lines(options.skip);
  }

  bool next(Record& record) {
    if (!reader_.next(record)) return false;
    if (width_ == 0) {
      width_ = record.size();
      first_line_ = reader_.line();
    }
    if (record.size() != width_) {
      throw DataError("{}: line {}: expected {} fields, as in line {}, found {}", name_, reader_.line(),
                      width_, first_line_, record.size());
    }
    return true;
  }

  std::int64_t line() const { return reader_.line(); }

 private:
  std::string_view name_;
  CsvReader reader_;
  std::size_t width_ = 0;
  std::int64_t first_line_ = 0;
};

std::vector<TableColumn> name_columns(std::string_view name, std::string_view text,
                                      const TableOptions& options, bool& has_header) {
  Records records(name, text, options);
  Record first;
  if (!records.next(first)) throw DataError("{}: expected rows of CSV, found none", name);
  if (first.size() < 2)
    throw DataError("{}: line {}: expected at least 2 columns, found 1", name, records.line());
  std::vector<TableColumn> columns;
  for (const std::string_view field : first) columns.push_back({.name = std::string(field)});
  const std::vector<std::string> kept(first.begin(),
                                      first.end());  // The next record takes the reader's memory.
  const Record names(kept.begin(), kept.end());
  Record second;
  if (!records.next(second)) second = names;
  has_header = options.header.value_or(looks_like_header(names, second));
  if (!has_header) {
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].name = fmt::format("{}", i + 1);
  }
  return columns;
}

// The kinds that the options fix; nothing for a column whose values decide.
std::vector<std::optional<ColumnKind>> chosen_kinds(std::string_view name,
                                                    const std::vector<TableColumn>& columns,
                                                    const TableOptions& options) {
  std::vector<std::optional<ColumnKind>> kinds(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (lower(columns[i].name) == "id") kinds[i] = ColumnKind::ignored;
  }
  for (const std::string& column : options.numeric)
    kinds[find_column(name, columns, column)] = ColumnKind::numeric;
  for (const std::string& column : options.categorical) {
    kinds[find_column(name, columns, column)] = ColumnKind::categorical;
  }
  for (const std::string& column : options.ignore)
    kinds[find_column(name, columns, column)] = ColumnKind::ignored;
  const std::size_t label =
      options.label.empty() ? default_label(columns) : find_column(name, columns, options.label);
  kinds[label] = ColumnKind::label;
  return kinds;
}

void finish_column(TableColumn& column, const ColumnScan& scan) {
  if (column.kind != ColumnKind::numeric || scan.numbers == 0) return;
  const auto count = static_cast<double>(scan.numbers);
  const double mean = scan.sum / count;
  const double variance = scan.square_sum / count - mean * mean;
  column.mean = scan.shift + mean;
  column.deviation = variance > 0 ? std::sqrt(variance) : 1.0;
}

// Labels of the training file: numbers where all of them are, else names.
class LabelScan {
 public:
  explicit LabelScan(std::string_view name) : name_(name) {}

  void add(std::string_view field, std::int64_t line) {
    if (is_missing(field))
      throw DataError("{}: line {}: expected a label, found {}", name_, line, in_quotes(field));
    double value = 0;
    all_numbers_ = all_numbers_ && parse_whole_number(field, value);
    if (all_numbers_) {
      if (!std::isfinite(static_cast<float>(value))) {
        throw DataError("{}: line {}: expected a finite label, found {}", name_, line, in_quotes(field));
      }
      numbers_.push_back(static_cast<float>(value));
    }
    if (names_.size() <= kMaxLabelNames) names_.emplace(label_text(field), 0);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    if (all_numbers_) return result;
    if (names_.size() > kMaxLabelNames)
      throw DataError("{}: more than {} distinct labels that are not numbers", name_, kMaxLabelNames);
    for (const auto& [name, unused] : names_) result.push_back(name);
    return result;
  }

  LabelMap map(std::optional<Task> task) const {
    if (all_numbers_) return {name_, numbers_, task};
    std::vector<float> codes(names().size());
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<float>(i);
    return {name_, codes, task};
  }

 private:
  std::string_view name_;
  bool all_numbers_ = true;
  std::vector<float> numbers_;
  std::map<std::string, int, std::less<>> names_;
};

std::int32_t bucket_of(std::size_t column, std::string_view field, std::int64_t buckets) {
  std::uint64_t hash = mix_bits(column);
  if (!is_missing(field)) {
    for (const char c : field) hash = mix_bits(hash ^ static_cast<unsigned char>(c));
  }
  return static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(buckets));
}

float encode_label(std::string_view name, std::int64_t line, const TableSchema& schema,
                   std::string_view field) {
  double value = 0;
  const auto& names = schema.label_names;
  if (names.empty()) {
    require_number(name, line, "of labels", field, value);
  } else {
    const auto found = std::lower_bound(names.begin(), names.end(), label_text(field));
    value =
        found != names.end() && *found == label_text(field) ? static_cast<double>(found - names.begin()) : -1;
  }
  const auto code = schema.labels.find(static_cast<float>(value));
  if (!code) {
    throw DataError("{}: line {}: expected a label of the training data ({}), found {}", name, line,
                    fmt::join(names.empty() ? schema.labels.names() : names, ", "), in_quotes(field));
  }
  return *code;
}

// Skips the names where the file has the header of the schema; another header is an error.
bool is_header(std::string_view name, const TableSchema& schema, const Record& record, std::int64_t line) {
  if (!schema.has_header) return false;
  const bool same =
      std::equal(record.begin(), record.end(), schema.columns.begin(), schema.columns.end(),
                 [](std::string_view field, const TableColumn& column) { return field == column.name; });
  if (same || schema.options.header == true) return true;
  if (std::none_of(record.begin(), record.end(), is_number)) {
    throw DataError("{}: line {}: expected the column names of the training data, found {} …", name, line,
                    in_quotes(record.empty() ? "" : record[0]));
  }
  return false;
}

void encode_record(std::string_view name, std::int64_t line, const TableSchema& schema, const Record& record,
                   Table& table) {
  for (std::size_t i = 0; i < record.size(); ++i) {
    const TableColumn& column = schema.columns[i];
    if (column.kind == ColumnKind::label) {
      table.labels.push_back(encode_label(name, line, schema, record[i]));
    } else if (column.kind == ColumnKind::categorical) {
      table.category.push_back(bucket_of(i, record[i], schema.options.buckets));
    } else if (column.kind == ColumnKind::numeric) {
      double value = column.mean;
      if (!is_missing(record[i])) require_number(name, line, column.name, record[i], value);
      table.numeric.push_back(static_cast<float>((value - column.mean) / column.deviation));
    }
  }
}

}  // namespace

std::size_t TableSchema::count(ColumnKind kind) const {
  return static_cast<std::size_t>(std::count_if(
      columns.begin(), columns.end(), [&](const TableColumn& column) { return column.kind == kind; }));
}

TableSchema infer_schema(std::string_view name, std::string_view text, const TableOptions& options) {
  bool has_header = false;
  std::vector<TableColumn> columns = name_columns(name, text, options, has_header);
  const auto chosen = chosen_kinds(name, columns, options);

  std::vector<ColumnScan> scans(columns.size());
  LabelScan labels(name);
  Records records(name, text, options);
  Record record;
  if (has_header) records.next(record);
  std::int64_t rows = 0;
  for (; records.next(record); ++rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (chosen[i] == ColumnKind::label) labels.add(record[i], records.line());
      if ((!chosen[i] || chosen[i] == ColumnKind::numeric) && !is_missing(record[i]))
        scans[i].add(record[i], records.line());
    }
  }
  if (rows == 0) throw DataError("{}: expected rows of CSV below the header, found none", name);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].kind = chosen[i] ? *chosen[i] : deduced_kind(name, columns[i], scans[i]);
    finish_column(columns[i], scans[i]);
  }
  return {std::move(columns), has_header, labels.names(), labels.map(options.task), options};
}

Table read_table(std::string_view name, std::string_view text, const TableSchema& schema) {
  Table table;
  Records records(name, text, schema.options);
  Record record;
  for (bool is_first = true; records.next(record); is_first = false) {
    if (record.size() != schema.columns.size()) {
      throw DataError("{}: line {}: expected {} fields, as in the training data, found {}", name,
                      records.line(), schema.columns.size(), record.size());
    }
    if (is_first && is_header(name, schema, record, records.line())) continue;
    encode_record(name, records.line(), schema, record, table);
  }
  if (table.labels.empty()) throw DataError("{}: expected rows of CSV, found none", name);
  return table;
}

}  // namespace hocket
