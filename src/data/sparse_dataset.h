#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/labels.h"

namespace hocket {

// Rows of a sparse matrix, compressed (CSR), with a label each.
struct SparseRows {
  std::vector<float> labels;
  std::vector<std::int64_t> offsets{0};  // Row i is [offsets[i], offsets[i+1]) of columns and values.
  std::vector<std::int32_t> columns;     // Ascending within a row, from 0.
  std::vector<float> values;             // Empty where every value is 1.

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  std::int64_t max_nonzeros() const;
  std::int64_t features() const;  // One more than the largest column.
  // Leaves out the entries in columns from `features` on.
  void drop_columns_from(std::int64_t features);
};

// Entries that a row begins with and an earlier row has; none: count 0.
struct SharedPrefix {
  std::int64_t begin = 0;
  std::int32_t count = 0;
};

// Sparse rows in memory, what rows have in common with the one before stored once. Fields: "values",
// "columns", "offsets", "label". Entries of the packed fields after the last row are zero; offsets after the
// last row repeat its end.
class SparseDataset final : public Dataset {
 public:
  // The labels in `rows` are encoded by `labels` already. `features` and `max_nonzeros` are at least those of
  // `rows`.
  SparseDataset(std::string name, SparseRows rows, const LabelMap& labels, std::int64_t features,
                std::int64_t max_nonzeros);
  const DataInfo& info() const override { return info_; }
  // How many entries the rows have for each that is stored.
  double compression() const { return compression_; }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  void fetch_place(std::int64_t row) const;
  void fetch_entries(std::int64_t row) const;
  std::int64_t copy_entries(std::int64_t begin, std::int64_t count, std::int32_t* columns,
                            float* values) const;

  DataInfo info_;
  SparseRows rows_;
  std::vector<SharedPrefix> prefixes_;  // By row; empty: rows are whole.
  double compression_ = 1;
};

}  // namespace hocket
