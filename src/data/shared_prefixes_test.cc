#include "data/shared_prefixes.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "data/describe.h"

namespace hocket {
namespace {

void add_row(SparseRows& rows, const std::vector<std::int32_t>& columns,
             const std::vector<float>& values = {}) {
  rows.labels.push_back(1);
  rows.columns.insert(rows.columns.end(), columns.begin(), columns.end());
  rows.values.insert(rows.values.end(), values.begin(), values.end());
  rows.offsets.push_back(static_cast<std::int64_t>(rows.columns.size()));
}

struct Row {
  std::vector<std::int32_t> columns;
  std::vector<float> values;
  bool operator==(const Row&) const = default;
};

void append(const SparseRows& rows, std::int64_t begin, std::int64_t end, Row& row) {
  row.columns.insert(row.columns.end(), rows.columns.begin() + begin, rows.columns.begin() + end);
  if (!rows.values.empty())
    row.values.insert(row.values.end(), rows.values.begin() + begin, rows.values.begin() + end);
}

std::vector<Row> whole_rows(const SparseRows& rows, const std::vector<SharedPrefix>& prefixes) {
  std::vector<Row> result(static_cast<std::size_t>(rows.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!prefixes.empty()) append(rows, prefixes[i].begin, prefixes[i].begin + prefixes[i].count, result[i]);
    append(rows, rows.offsets[i], rows.offsets[i + 1], result[i]);
  }
  return result;
}

// Users of several impressions: twenty features of the user, then a few of what was shown.
SparseRows impressions(int users, bool has_values, std::uint64_t seed) {
  SparseRows rows;
  Rng rng{seed};
  for (int user = 0; user < users; ++user) {
    std::vector<std::int32_t> own;
    for (int i = 0; i < 20; ++i)
      own.push_back(static_cast<std::int32_t>(100 * i + static_cast<int>(rng.below(100))));
    for (std::uint64_t shown = 0; shown <= rng.below(10); ++shown) {
      std::vector<std::int32_t> columns = own;
      for (int i = 20; i < 23; ++i)
        columns.push_back(static_cast<std::int32_t>(100 * i + static_cast<int>(rng.below(100))));
      std::vector<float> values(has_values ? columns.size() : 0, 2.0F);
      if (has_values) values.back() = static_cast<float>(rng.uniform());
      add_row(rows, columns, values);
    }
  }
  return rows;
}

TEST(SharedPrefixes, LoseNothing) {
  for (const bool has_values : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SparseRows rows = impressions(30, has_values, seed);
      const std::vector<Row> before = whole_rows(rows, {});
      const std::size_t entries = rows.columns.size();
      const std::vector<SharedPrefix> prefixes = share_prefixes(rows);
      EXPECT_EQ(whole_rows(rows, prefixes), before);
      EXPECT_LT(rows.columns.size() * 2, entries);
    }
  }
}

TEST(SharedPrefixes, AreNotForRowsThatHaveLittleInCommon) {
  SparseRows rows;
  for (std::int32_t i = 0; i < 50; ++i) add_row(rows, {1, 10 + i, 100 + i, 1000 + i});
  const std::vector<std::int32_t> columns = rows.columns;
  EXPECT_TRUE(share_prefixes(rows).empty());
  EXPECT_EQ(rows.columns, columns);
  SparseRows none;
  EXPECT_TRUE(share_prefixes(none).empty());
}

TEST(SharedPrefixes, AreWholeAgainInABatch) {
  SparseRows rows = impressions(40, true, 3);
  const std::vector<Row> before = whole_rows(rows, {});
  const std::int64_t size = rows.size();
  const LabelMap labels("made up", rows.labels, Task::regression);
  const SparseDataset data("made up", std::move(rows), labels, 3000, 23);
  EXPECT_GT(data.compression(), 2);
  EXPECT_DOUBLE_EQ(describe(data).compression, data.compression());
  const Batch batch = make_batch(data.info(), 4);
  for (std::int64_t first = 0; first + 4 <= size; first += 4) {
    const std::int64_t indices[] = {first + 3, first, first + 2, first + 1};
    data.gather(indices, 0, batch.fields);
    const auto offsets = batch.fields[2].values<std::int32_t>();
    for (std::size_t i = 0; i < 4; ++i) {
      const auto values = batch.fields[0].values<float>();
      const auto columns = batch.fields[1].values<std::int32_t>();
      const Row row{{columns.begin() + offsets[i], columns.begin() + offsets[i + 1]},
                    {values.begin() + offsets[i], values.begin() + offsets[i + 1]}};
      ASSERT_EQ(row, before[static_cast<std::size_t>(indices[i])]);
    }
  }
}

}  // namespace
}  // namespace hocket
