#include "data/table_dataset.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "data/file.h"

namespace hocket {
namespace {

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find('+', start), text.size());
    items.push_back(text.substr(start, stop - start));
    start = stop + 1;
  }
  return items;
}

char parse_separator(const DataSource& source) {
  const std::string text = source.option("separator", "comma");
  if (text == "comma") return ',';
  if (text == "tab") return '\t';
  if (text == "semicolon") return ';';
  if (text == "blank") return ' ';
  if (text.size() == 1) return text[0];
  throw ConfigError(
      "data '{}': option 'separator': expected comma, semicolon, tab, blank or one character, found '{}'",
      source.text, text);
}

TableOptions table_options(const DataSource& source) {
  TableOptions options;
  options.separator = parse_separator(source);
  options.skip = source.integer("skip", 0, 0, 1 << 20);
  if (source.option("header", "auto") != "auto") options.header = source.flag("header", false);
  options.label = source.option("label", "");
  options.numeric = split_list(source.option("numeric", ""));
  options.categorical = split_list(source.option("categorical", ""));
  options.ignore = split_list(source.option("ignore", ""));
  options.buckets = source.integer("buckets", options.buckets, 1, std::int64_t{1} << 30);
  options.task = parse_task(source.option("task", "auto"));
  return options;
}

bool wants_sparse(const DataSource& source) {
  const std::string layout = source.option("layout", "table");
  if (layout == "sparse" || layout == "table") return layout == "sparse";
  throw ConfigError("data '{}': option 'layout': expected table or sparse, found '{}'", source.text, layout);
}

// Copies the rows `indices` of `width` elements each, and zeroes the rows after them.
template <typename T>
void gather_rows(const std::vector<T>& rows, std::int64_t width, std::span<const std::int64_t> indices,
                 const Tensor& out) {
  T* dst = out.values<T>().data();
  for (const std::int64_t index : indices) dst = std::copy_n(rows.data() + index * width, width, dst);
  zero_rows_from(out, static_cast<std::int64_t>(indices.size()));
}

DataParts sparse_parts(const std::string& name, const Table& train, const Table* test,
                       const TableShape& shape, const LabelMap& labels) {
  SparseRows train_rows = to_sparse(train, shape);
  SparseRows test_rows = test != nullptr ? to_sparse(*test, shape) : SparseRows{};
  const std::int64_t features = shape.numeric + (shape.categorical > 0 ? shape.buckets : 0);
  const std::int64_t longest = std::max(train_rows.max_nonzeros(), test_rows.max_nonzeros());
  DataParts parts;
  parts.train = std::make_unique<SparseDataset>(name, std::move(train_rows), labels, features, longest);
  if (test != nullptr)
    parts.test = std::make_unique<SparseDataset>(name, std::move(test_rows), labels, features, longest);
  return parts;
}

}  // namespace

TableDataset::TableDataset(std::string name, Table table, const TableShape& shape, const LabelMap& labels,
                           std::vector<std::string> class_names)
    : table_(std::move(table)), shape_(shape) {
  info_.name = std::move(name);
  info_.task = labels.task();
  info_.classes = labels.classes();
  info_.class_names = class_names.empty() ? labels.names() : std::move(class_names);
  info_.size = static_cast<std::int64_t>(table_.labels.size());
  info_.features = shape.categorical > 0 ? shape.buckets : 0;
  info_.bytes =
      static_cast<std::int64_t>(table_.numeric.size() * sizeof(float) + table_.labels.size() * sizeof(float) +
                                table_.category.size() * sizeof(std::int32_t));
  if (shape.categorical == 0) {
    info_.fields.push_back({"features", DType::f32, {shape.numeric}});
  } else {
    if (shape.numeric > 0) info_.fields.push_back({"numeric", DType::f32, {shape.numeric}});
    info_.fields.push_back({"category", DType::i32, {shape.categorical}});
  }
  info_.fields.push_back(label_field(info_.task));
}

void TableDataset::gather(std::span<const std::int64_t> indices, std::int64_t,
                          std::span<const Tensor> out) const {
  std::size_t field = 0;
  if (shape_.numeric > 0) gather_rows(table_.numeric, shape_.numeric, indices, out[field++]);
  if (shape_.categorical > 0) gather_rows(table_.category, shape_.categorical, indices, out[field++]);
  gather_labels(table_.labels, indices, out[field]);
}

SparseRows to_sparse(const Table& table, const TableShape& shape) {
  SparseRows rows;
  rows.labels = table.labels;
  std::vector<std::int32_t> buckets;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    const float* numeric = table.numeric.data() + row * shape.numeric;
    for (std::int64_t i = 0; i < shape.numeric; ++i) {
      if (numeric[i] == 0) continue;
      rows.columns.push_back(static_cast<std::int32_t>(i));
      rows.values.push_back(numeric[i]);
    }
    const std::int32_t* category = table.category.data() + row * shape.categorical;
    buckets.assign(category, category + shape.categorical);
    std::sort(buckets.begin(), buckets.end());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      if (i > 0 && buckets[i] == buckets[i - 1]) {
        rows.values.back() += 1.0F;
        continue;
      }
      rows.columns.push_back(static_cast<std::int32_t>(shape.numeric + buckets[i]));
      rows.values.push_back(1.0F);
    }
    rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}

DataParts open_csv(const DataSource& source, const DataSource* test) {
  const FileBytes file(source.location);
  const bool as_sparse = wants_sparse(source);
  const TableSchema schema = infer_schema(file.name(), file.text(), table_options(source));
  const TableShape shape{static_cast<std::int64_t>(schema.count(ColumnKind::numeric)),
                         static_cast<std::int64_t>(schema.count(ColumnKind::categorical)),
                         schema.options.buckets};
  if (shape.numeric + shape.categorical == 0) throw DataError("{}: no columns but the label", file.name());
  Table train = read_table(file.name(), file.text(), schema);
  std::optional<Table> held_out;
  if (test != nullptr) {
    const FileBytes other(test->location);
    TableSchema other_schema = schema;
    other_schema.options.skip = test->integer("skip", 0, 0, 1 << 20);
    held_out = read_table(other.name(), other.text(), other_schema);
  }
  const std::string name = std::filesystem::path(source.location).filename().string();
  if (as_sparse) return sparse_parts(name, train, held_out ? &*held_out : nullptr, shape, schema.labels);

  DataParts parts;
  const auto& names = schema.label_names;
  parts.train = std::make_unique<TableDataset>(name, std::move(train), shape, schema.labels, names);
  if (held_out)
    parts.test = std::make_unique<TableDataset>(name, *std::move(held_out), shape, schema.labels, names);
  return parts;
}

}  // namespace hocket
