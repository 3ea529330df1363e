#include "train/batch_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "graph/operator.h"
#include "nn/model.h"

namespace hocket {
namespace {

// The fields whose values are ids of rows of tables.
bool is_sparse_field(std::string_view name) { return name == "columns" || name == "category"; }

std::size_t sparse_field(const DataInfo& info) {
  for (std::size_t i = 0; i < info.fields.size(); ++i) {
    if (is_sparse_field(info.fields[i].name)) return i;
  }
  throw ConfigError("data {} has neither sparse rows nor categories", info.name);
}

// The operands of a node that are a table and the ids of its rows; none: -1.
struct TableOperands {
  int table = -1;
  int ids = -1;
};

TableOperands table_operands(const Node& node) {
  if (node.op->name() == "csr_matmul") return {3, 1};
  if (node.op->name() == "embedding") return {0, 1};
  return {};
}

}  // namespace

std::vector<TableUse> find_tables(const Graph& model) {
  std::vector<TableUse> tables;
  for (const Node& node : model.nodes()) {
    const TableOperands operands = table_operands(node);
    if (operands.table < 0) continue;
    const ValueInfo& table = model.value(node.inputs[static_cast<std::size_t>(operands.table)]);
    const ValueInfo& ids = model.value(node.inputs[static_cast<std::size_t>(operands.ids)]);
    if (table.role != Role::parameter || ids.role != Role::input || !is_sparse_field(ids.name)) continue;
    tables.push_back({table.name, table.type.shape[1]});
  }
  return tables;
}

DataInfo compact_info(const DataInfo& info, std::int64_t batch) {
  const Field& field = info.fields[sparse_field(info)];
  DataInfo compact = info;
  compact.features =
      std::clamp<std::int64_t>(batch * field.shape.count(), 1, std::max<std::int64_t>(1, info.features));
  return compact;
}

std::string compact_model(const std::string& model) {
  Spec spec = parse_model(model);
  if (spec.name != "deepfm") return model;
  std::erase_if(spec.options, [](const auto& option) { return option.first == "sparse"; });
  spec.options.emplace_back("sparse", "0");
  return spec.text();
}

int server_of_id(std::uint64_t id, int servers) {
  const auto scaled = static_cast<unsigned __int128>(mix_bits(id)) * static_cast<unsigned>(servers);
  return static_cast<int>(scaled >> 64);
}

BatchRows::BatchRows(const DataInfo& info, int servers)
    : field_(sparse_field(info)), offsets_(field_), servers_(servers) {
  if (info.fields[field_].packing == Packing::packed) offsets_ = field_index(info, "offsets");
  bounds_.resize(static_cast<std::size_t>(servers) + 1);
}

std::span<std::int32_t> BatchRows::ids_in(const Batch& batch) const {
  const std::span<std::int32_t> all = batch.fields[field_].values<std::int32_t>();
  if (offsets_ != field_)
    return all.first(static_cast<std::size_t>(batch.fields[offsets_].values<std::int32_t>().back()));
  const Shape& shape = batch.fields[field_].shape();
  return all.first(
      static_cast<std::size_t>(batch.count * (shape.count() / std::max<std::int64_t>(1, shape[0]))));
}

void BatchRows::compact(const Batch& batch) {
  const std::span<std::int32_t> entries = ids_in(batch);
  unique_.clear();
  for (std::int32_t& entry : entries) {
    entry = static_cast<std::int32_t>(unique_.add(static_cast<std::uint64_t>(entry)));
  }
  const std::span<const std::uint64_t> found = unique_.ids();
  std::fill(bounds_.begin(), bounds_.end(), 0);
  for (const std::uint64_t id : found) ++bounds_[static_cast<std::size_t>(server_of_id(id, servers_)) + 1];
  for (std::size_t s = 1; s < bounds_.size(); ++s) bounds_[s] += bounds_[s - 1];

  std::vector<std::int64_t> next(bounds_.begin(), bounds_.end() - 1);
  ids_.resize(found.size());
  rows_.resize(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int64_t row = next[static_cast<std::size_t>(server_of_id(found[i], servers_))]++;
    ids_[static_cast<std::size_t>(row)] = found[i];
    rows_[i] = static_cast<std::int32_t>(row);
  }
  for (std::int32_t& entry : entries) entry = rows_[static_cast<std::size_t>(entry)];
}

std::span<const std::uint64_t> BatchRows::ids(int server) const {
  const auto begin = static_cast<std::size_t>(first(server));
  return std::span(ids_).subspan(begin, static_cast<std::size_t>(first(server + 1)) - begin);
}

}  // namespace hocket
