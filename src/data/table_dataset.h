#pragma once

#include <string>

#include "data/source.h"
#include "data/sparse_dataset.h"
#include "data/table.h"

namespace hocket {

// What a table of numeric and categorical columns looks like, without its rows.
struct TableShape {
  std::int64_t numeric = 0;
  std::int64_t categorical = 0;
  std::int64_t buckets = 0;  // A category is in [0, buckets).
};

// Rows of a table in memory. Fields: "features" and "label" where all columns are numeric, else "numeric"
// (where there are any), "category" and "label".
class TableDataset final : public Dataset {
 public:
  // The labels in `table` are encoded by `labels` already.
  TableDataset(std::string name, Table table, const TableShape& shape, const LabelMap& labels,
               std::vector<std::string> class_names);
  const DataInfo& info() const override { return info_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  DataInfo info_;
  Table table_;
  TableShape shape_;
};

// The same rows as one sparse matrix: the numeric columns first, then one column per bucket with value 1
// (more where two categories of a row share a bucket).
SparseRows to_sparse(const Table& table, const TableShape& shape);

// A CSV file, plain or gzip, and, where `test` is not null, a second one read with the columns of the first.
// Options: label, header (auto), separator (,), skip (0), numeric, categorical, ignore (lists joined by +),
// buckets (65536), task (auto), layout (table; sparse: as one sparse matrix).
DataParts open_csv(const DataSource& source, const DataSource* test);

}  // namespace hocket
