#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/unique_ids.h"
#include "data/dataset.h"
#include "graph/graph.h"

namespace hocket {

// A parameter of which a batch needs few rows: those that the sparse ids of its samples name.
struct TableUse {
  std::string parameter;
  std::int64_t width = 0;
};

// Of a model on sparse rows or categories; empty for any other.
std::vector<TableUse> find_tables(const Graph& model);

// The data as a model sees it whose tables are blocks of the rows of one batch of at most so many samples.
DataInfo compact_info(const DataInfo& info, std::int64_t batch);
// The model with dense gradients of its tables, which are small as blocks.
std::string compact_model(const std::string& model);

// Which of the servers has the row of an id.
int server_of_id(std::uint64_t id, int servers);

// The rows of tables that a batch needs, by server: rows [first(s), first(s) + ids(s).size()) of every block,
// and of its gradient, are those of server s, in the order of ids(s). The same for all tables of a model.
// Used by one thread.
class BatchRows {
 public:
  BatchRows(const DataInfo& info, int servers);

  // Writes the numbers of rows in blocks over the ids of the batch. Its padding names row 0.
  void compact(const Batch& batch);

  std::int64_t first(int server) const { return bounds_[static_cast<std::size_t>(server)]; }
  std::span<const std::uint64_t> ids(int server) const;
  std::int64_t size() const { return bounds_.back(); }

 private:
  std::span<std::int32_t> ids_in(const Batch& batch) const;

  std::size_t field_;    // Of the ids,
  std::size_t offsets_;  // and of the offsets of sparse rows; none: the same.
  int servers_;
  UniqueIds unique_;
  std::vector<std::uint64_t> ids_;    // By server.
  std::vector<std::int64_t> bounds_;  // Where those of each server begin, and the end.
  std::vector<std::int32_t> rows_;    // By number in unique_.
};

}  // namespace hocket
