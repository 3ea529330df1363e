#include "sync/wide_sum.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"
#include "sync/vectors.h"

namespace hocket {
namespace {

TEST(WideSum, KeepsWhatDoubleLoses) {
  WideSum sum;
  sum.add(1e16);
  sum.add(1.0);
  sum.add(-1e16);
  EXPECT_EQ(sum.rounded(), 1.0);
  WideSum products;
  products.add_product(1 + 0x1p-30, 1 + 0x1p-30);
  products.add(-1.0);
  EXPECT_EQ(products.rounded(), 0x1p-29 + 0x1p-60);
}

TEST(WideSum, PartsJoinToTheBitsOfTheWhole) {
  Rng rng({1});
  for (int length = 1; length < 400; length += 7) {
    LocalVectors whole(length, 2);
    for (VectorId id = 0; id < 2; ++id) {
      for (double& x : whole.at(id)) x = rng.normal() * std::exp(5 * rng.normal());
    }
    const double expected = whole.run(std::vector{dot_op(0, 1)})[0].rounded();
    const auto cut = static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(length) + 1));
    WideSum joined;
    for (const auto& [begin, end] :
         {std::pair<std::size_t, std::size_t>(0, cut), {cut, static_cast<std::size_t>(length)}}) {
      LocalVectors part(static_cast<std::int64_t>(end - begin), 2);
      for (VectorId id = 0; id < 2; ++id) {
        const auto from = whole.at(id).subspan(begin, end - begin);
        std::copy(from.begin(), from.end(), part.at(id).begin());
      }
      joined.add(part.run(std::vector{dot_op(0, 1)})[0]);
    }
    EXPECT_EQ(joined.rounded(), expected) << length << " cut at " << cut;
  }
}

}  // namespace
}  // namespace hocket
