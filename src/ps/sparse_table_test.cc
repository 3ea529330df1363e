#include "ps/sparse_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/rng.h"

namespace hocket {
namespace {

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Finds or makes the row of `id` and counts in it.
void count(SparseTable& table, std::uint64_t id) {
  std::byte* row = table.find(id);
  if (row == nullptr) row = table.add(id);
  std::uint64_t times = 0;
  std::memcpy(&times, row, sizeof(times));
  ++times;
  std::memcpy(row, &times, sizeof(times));
}

void expect_same(const SparseTable& table, const std::map<std::uint64_t, std::uint64_t>& oracle) {
  ASSERT_EQ(table.size(), oracle.size());
  for (const auto& [id, times] : oracle) {
    const std::byte* row = table.find(id);
    ASSERT_NE(row, nullptr) << id;
    ASSERT_EQ(std::memcmp(row, &times, sizeof(times)), 0) << id;
  }
}

TEST(SparseTable, FindsWhatWasAddedWhileItGrows) {
  for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{1} << 32}) {
    SparseTable table(sizeof(std::uint64_t));
    std::map<std::uint64_t, std::uint64_t> oracle;
    Rng rng{stride};
    for (int i = 0; i < 50'000; ++i) {
      const std::uint64_t id = rng.below(20'000) * stride;
      count(table, id);
      ++oracle[id];
      ASSERT_EQ(table.find(id + 20'000 * stride), nullptr);
      if (i % 997 == 0) expect_same(table, oracle);
    }
    expect_same(table, oracle);
    EXPECT_LE(table.most_moved(), IdIndex::kMovedSlots);
  }
}

TEST(SparseTable, RowsNeverMove) {
  SparseTable table(12);
  std::vector<std::byte*> rows;
  for (std::uint64_t id = 0; id < 400'000; ++id) rows.push_back(table.add(id));
  std::vector<std::byte*> found;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < rows.size(); ++id) ids.push_back(id);
  table.find_all(ids, found);
  EXPECT_EQ(found, rows);
  ids.assign({rows.size(), 3});
  table.find_all(ids, found);
  EXPECT_EQ(found, (std::vector<std::byte*>{nullptr, rows[3]}));
}

// Sanitizers have memory of their own, some of it for each byte of ours.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kHasShadowMemory = true;
#else
constexpr bool kHasShadowMemory = false;
#endif

TEST(SparseTable, PredictsItsMemory) {
  const std::size_t before = resident_bytes();
  SparseTable table(8);
  double widest = 0;
  for (std::uint64_t id = 0; id < 3'000'000; ++id) {
    table.add(id * 0x9e3779b97f4a7c15ULL);
    if (table.size() % 250'000 != 0) continue;
    ASSERT_EQ(table.bytes(), table.predicted_bytes(table.size())) << table.size();
    if (table.size() < 1'500'000) continue;
    const auto found = static_cast<double>(resident_bytes() - before);
    widest = std::max(widest, std::abs(found / static_cast<double>(table.bytes()) - 1));
  }
  if (!kHasShadowMemory) {
    EXPECT_LT(widest, 0.1);
  }
  EXPECT_LE(table.most_moved(), IdIndex::kMovedSlots);
}

RC_GTEST_PROP(SparseTable, HoldsAnyIds, (const std::vector<std::uint64_t>& ids)) {
  SparseTable table(sizeof(std::uint64_t));
  std::map<std::uint64_t, std::uint64_t> oracle;
  for (const std::uint64_t id : ids) {
    count(table, id);
    ++oracle[id];
  }
  expect_same(table, oracle);
}

}  // namespace
}  // namespace hocket
