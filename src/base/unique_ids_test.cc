#include "base/unique_ids.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace hocket {
namespace {

TEST(UniqueIds, NumbersIdsAsTheyFirstCome) {
  UniqueIds unique;
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    unique.clear();
    std::map<std::uint64_t, std::uint32_t> numbers;
    Rng rng{batch};
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t id = rng.below(10 + 100 * batch) * 0x100000001ULL;
      const auto entry = numbers.try_emplace(id, static_cast<std::uint32_t>(numbers.size()));
      ASSERT_EQ(unique.add(id), entry.first->second);
    }
    ASSERT_EQ(unique.ids().size(), numbers.size());
    for (const auto& [id, number] : numbers) ASSERT_EQ(unique.ids()[number], id);
  }
}

}  // namespace
}  // namespace hocket
