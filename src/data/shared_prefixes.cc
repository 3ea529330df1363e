// Rows are compared with the last one that is stored whole, so a prefix is always one run of entries.
#include "data/shared_prefixes.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::int32_t) + sizeof(float);

class PrefixFinder {
 public:
  explicit PrefixFinder(const SparseRows& rows) : rows_(rows) {}

  std::vector<SharedPrefix> find() {
    std::vector<SharedPrefix> prefixes;
    prefixes.reserve(rows_.labels.size());
    std::int64_t whole = 0;
    for (std::int64_t row = 0; row < rows_.size(); ++row) {
      const std::int64_t count = row == whole ? 0 : common(whole, row);
      const bool is_shared = count * 2 >= length(row) && count > 0;
      if (!is_shared) whole = row;
      prefixes.push_back(is_shared ? SharedPrefix{begin(whole), static_cast<std::int32_t>(count)}
                                   : SharedPrefix{});
    }
    return prefixes;
  }

 private:
  std::int64_t begin(std::int64_t row) const { return rows_.offsets[static_cast<std::size_t>(row)]; }
  std::int64_t length(std::int64_t row) const { return begin(row + 1) - begin(row); }

  std::int64_t common(std::int64_t a, std::int64_t b) const {
    const std::int64_t most = std::min(length(a), length(b));
    std::int64_t count = 0;
    while (count < most && are_same(begin(a) + count, begin(b) + count)) ++count;
    return count;
  }
  bool are_same(std::int64_t a, std::int64_t b) const {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return rows_.columns[i] == rows_.columns[j] &&
           (rows_.values.empty() || rows_.values[i] == rows_.values[j]);
  }

  const SparseRows& rows_;
};

// Entries move forward over those that are shared; prefixes follow the rows that they are of.
void remove_shared(SparseRows& rows, std::vector<SharedPrefix>& prefixes) {
  std::int64_t kept = 0, old_begin = 0, whole_begin = 0;
  for (std::size_t row = 0; row < prefixes.size(); ++row) {
    const std::int64_t old_end = rows.offsets[row + 1];
    const std::int64_t from = old_begin + prefixes[row].count;
    if (prefixes[row].count == 0) whole_begin = kept;
    prefixes[row].begin = whole_begin;
    std::copy(rows.columns.begin() + from, rows.columns.begin() + old_end, rows.columns.begin() + kept);
    if (!rows.values.empty())
      std::copy(rows.values.begin() + from, rows.values.begin() + old_end, rows.values.begin() + kept);
    kept += old_end - from;
    rows.offsets[row + 1] = kept;
    old_begin = old_end;
  }
  rows.columns.resize(static_cast<std::size_t>(kept));
  rows.columns.shrink_to_fit();
  if (rows.values.empty()) return;
  rows.values.resize(static_cast<std::size_t>(kept));
  rows.values.shrink_to_fit();
}

}  // namespace

std::vector<SharedPrefix> share_prefixes(SparseRows& rows) {
  std::vector<SharedPrefix> prefixes = PrefixFinder(rows).find();
  std::size_t shared = 0;
  for (const SharedPrefix& prefix : prefixes) shared += static_cast<std::size_t>(prefix.count);
  const std::size_t entry = rows.values.empty() ? sizeof(std::int32_t) : kEntryBytes;
  if (shared * entry <= prefixes.size() * sizeof(SharedPrefix)) return {};
  remove_shared(rows, prefixes);
  return prefixes;
}

}  // namespace hocket
