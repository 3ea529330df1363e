#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/labels.h"

namespace hocket {

struct TableOptions {
  char separator = ',';
  std::int64_t skip = 0;       // Lines before the first record.
  std::optional<bool> header;  // Else found out: names above numbers.
  std::string label;  // Name or number (from 1); empty: "label", "target", "class" or "y", else the last.
  std::vector<std::string> numeric;  // Columns by name or number whose kind is not to be found out.
  std::vector<std::string> categorical;
  std::vector<std::string> ignore;  // A column called "id" is left out anyway.
  std::int64_t buckets = 1 << 16;   // Categories are hashed, with their column, into this many.
  std::optional<Task> task;
};

enum class ColumnKind { numeric, categorical, label, ignored };

struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::ignored;
  double mean = 0;  // Of the values that are there, for numeric columns.
  double deviation = 1;
};

// What the columns of a training file mean, so that another file can be read the same way. A column is
// numeric where every value is a number; one value in twenty or fewer that is none is taken for an error, not
// for a category.
// "", "?" and "NA" are missing: the mean of a numeric column, a category of their own otherwise.
struct TableSchema {
  std::vector<TableColumn> columns;
  bool has_header = false;
  std::vector<std::string> label_names;  // In the order of the classes; empty where labels are numbers.
  LabelMap labels;
  TableOptions options;

  std::size_t count(ColumnKind kind) const;
};

// Rows of a table, encoded: numeric columns standardised, categories as buckets, labels by the schema's map.
struct Table {
  std::vector<float> numeric;          // [rows, numeric columns]
  std::vector<std::int32_t> category;  // [rows, categorical columns]
  std::vector<float> labels;           // [rows]
};

// Both read CSV `text`; `name` is for messages. Throw DataError with the line, and ConfigError for a column
// in the options that is not there.
TableSchema infer_schema(std::string_view name, std::string_view text, const TableOptions& options);
Table read_table(std::string_view name, std::string_view text, const TableSchema& schema);

}  // namespace hocket
