#include "ps/sparse_table.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {

std::byte* SparseTable::find(std::uint64_t id) const {
  const std::uint32_t row = index_.find(id);
  return row == IdIndex::kNoRow ? nullptr : rows_.payload(row);
}

std::byte* SparseTable::add(std::uint64_t id) {
  if (rows_.size() >= IdIndex::kNoRow) throw Error("a table has no room for more than {} rows", rows_.size());
  const std::size_t row = rows_.add(id);
  index_.insert(id, static_cast<std::uint32_t>(row));
  return rows_.payload(row);
}

// Three steps an id, each a cache miss that the ids behind it hide: its slot, its row, the look.
void SparseTable::find_all(std::span<const std::uint64_t> ids, std::vector<std::byte*>& rows) const {
  constexpr std::size_t kAhead = 12;
  rows.resize(ids.size());
  for (std::size_t i = 0; i < ids.size() + 2 * kAhead; ++i) {
    if (i < ids.size()) index_.prefetch(ids[i]);
    if (i >= kAhead && i - kAhead < ids.size()) index_.prefetch_row(ids[i - kAhead]);
    if (i >= 2 * kAhead) rows[i - 2 * kAhead] = find(ids[i - 2 * kAhead]);
  }
}

}  // namespace hocket
