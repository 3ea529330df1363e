#include "data/sparse_dataset.h"

#include <algorithm>

#include "base/error.h"
#include "data/shared_prefixes.h"

namespace hocket {
namespace {

constexpr std::size_t kAhead = 4;   // Rows from the one that is fetched to the one that is copied.
constexpr std::int64_t kLine = 16;  // Numbers in a cache line.

}  // namespace

std::int64_t SparseRows::max_nonzeros() const {
  std::int64_t longest = 0;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return longest;
}

std::int64_t SparseRows::features() const {
  return columns.empty() ? 0 : std::int64_t{*std::max_element(columns.begin(), columns.end())} + 1;
}

void SparseRows::drop_columns_from(std::int64_t features) {
  std::size_t kept = 0;
  std::int64_t begin = 0;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    const std::int64_t end = offsets[row + 1];
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (columns[i] >= features) continue;
      columns[kept] = columns[i];
      if (!values.empty()) values[kept] = values[i];
      ++kept;
    }
    begin = end;
    offsets[row + 1] = static_cast<std::int64_t>(kept);
  }
  columns.resize(kept);
  if (!values.empty()) values.resize(kept);
}

SparseDataset::SparseDataset(std::string name, SparseRows rows, const LabelMap& labels, std::int64_t features,
                             std::int64_t max_nonzeros)
    : rows_(std::move(rows)) {
  HOCKET_CHECK(rows_.features() <= features && rows_.max_nonzeros() <= max_nonzeros,
               "rows larger than announced");
  const auto entries = static_cast<double>(rows_.columns.size());
  prefixes_ = share_prefixes(rows_);
  if (!prefixes_.empty()) compression_ = entries / std::max(1.0, static_cast<double>(rows_.columns.size()));
  info_.name = std::move(name);
  info_.task = labels.task();
  info_.classes = labels.classes();
  info_.class_names = labels.names();
  info_.size = rows_.size();
  info_.features = features;
  info_.max_nonzeros = max_nonzeros;
  info_.bytes = static_cast<std::int64_t>(
      rows_.labels.size() * sizeof(float) + rows_.offsets.size() * sizeof(std::int64_t) +
      rows_.columns.size() * sizeof(std::int32_t) + rows_.values.size() * sizeof(float) +
      prefixes_.size() * sizeof(SharedPrefix));
  info_.fields = {{"values", DType::f32, {max_nonzeros}, Packing::packed},
                  {"columns", DType::i32, {max_nonzeros}, Packing::packed},
                  {"offsets", DType::i32, {}, Packing::offsets},
                  label_field(info_.task)};
}

std::int64_t SparseDataset::copy_entries(std::int64_t begin, std::int64_t count, std::int32_t* columns,
                                         float* values) const {
  std::copy_n(rows_.columns.data() + begin, count, columns);
  if (rows_.values.empty()) {
    std::fill_n(values, count, 1.0F);
  } else {
    std::copy_n(rows_.values.data() + begin, count, values);
  }
  return count;
}

// Rows in a random order are out of reach of what the processor fetches ahead by itself.
void SparseDataset::fetch_place(std::int64_t row) const {
  __builtin_prefetch(rows_.offsets.data() + row);
  __builtin_prefetch(rows_.labels.data() + row);
}

void SparseDataset::fetch_entries(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  for (std::int64_t i = rows_.offsets[at]; i < rows_.offsets[at + 1]; i += kLine) {
    __builtin_prefetch(rows_.columns.data() + i);
    if (!rows_.values.empty()) __builtin_prefetch(rows_.values.data() + i);
  }
}

void SparseDataset::gather(std::span<const std::int64_t> indices, std::int64_t,
                           std::span<const Tensor> out) const {
  float* values = out[0].values<float>().data();
  std::int32_t* columns = out[1].values<std::int32_t>().data();
  const auto offsets = out[2].values<std::int32_t>();
  std::int64_t filled = 0;
  const std::size_t count = indices.size();
  for (std::size_t i = 0; i < std::min(2 * kAhead, count); ++i) fetch_place(indices[i]);
  for (std::size_t i = 0; i < std::min(kAhead, count); ++i) fetch_entries(indices[i]);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 2 * kAhead < count) fetch_place(indices[i + 2 * kAhead]);
    if (i + kAhead < count) fetch_entries(indices[i + kAhead]);
    const auto row = static_cast<std::size_t>(indices[i]);
    const std::int64_t begin = rows_.offsets[row];
    offsets[i] = static_cast<std::int32_t>(filled);
    if (!prefixes_.empty())
      filled += copy_entries(prefixes_[row].begin, prefixes_[row].count, columns + filled, values + filled);
    filled += copy_entries(begin, rows_.offsets[row + 1] - begin, columns + filled, values + filled);
  }
  std::fill(offsets.begin() + static_cast<std::ptrdiff_t>(indices.size()), offsets.end(),
            static_cast<std::int32_t>(filled));
  zero_rows_from(out[0], filled);
  zero_rows_from(out[1], filled);
  gather_labels(rows_.labels, indices, out[3]);
}

}  // namespace hocket
