#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/id_index.h"
#include "ps/row_chunks.h"

namespace hocket {

// Rows by id, made as ids come. Rows keep their addresses, and no insertion costs much more than another.
// Used by one thread. Not movable: the index refers to the rows.
class SparseTable {
 public:
  explicit SparseTable(std::size_t payload_bytes) : rows_(payload_bytes), index_(rows_) {}
  SparseTable(const SparseTable&) = delete;
  SparseTable& operator=(const SparseTable&) = delete;

  std::size_t size() const { return rows_.size(); }
  std::byte* find(std::uint64_t id) const;  // None: null.
  std::byte* add(std::uint64_t id);         // An id that is not there; its row is zero.
  // The rows of many ids, null where there are none, fetched from memory side by side.
  void find_all(std::span<const std::uint64_t> ids, std::vector<std::byte*>& rows) const;

  // In the order in which they were made.
  std::uint64_t id(std::size_t row) const { return rows_.id(row); }
  std::byte* payload(std::size_t row) const { return rows_.payload(row); }

  std::size_t bytes() const { return rows_.bytes() + index_.bytes(); }
  std::size_t predicted_bytes(std::size_t rows) const {
    return rows_.bytes_for(rows) + IdIndex::bytes_for(rows);
  }
  std::size_t most_moved() const { return index_.most_moved(); }

 private:
  RowChunks rows_;
  IdIndex index_;
};

}  // namespace hocket
