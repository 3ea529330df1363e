#include "train/shared_values.h"

#include <gtest/gtest.h>

#include <thread>

namespace hocket {
namespace {

TEST(SharedValues, AddWhatWasChangedToWhatIsThere) {
  const Arena shared(64), own(64);
  const auto all = shared.at<float>(0, 16), mine = own.at<float>(0, 16);
  for (std::size_t i = 0; i < 16; ++i) all[i] = static_cast<float>(i);
  SharedValues values(shared, own, DType::f32);
  values.read();
  all[3] = 10;  // Another thread, while the gradient is computed,
  values.read_again();
  mine[3] += 1;
  mine[4] += 1;
  mine[5] += 1;
  all[4] = 20;  // and while it is applied.
  const SharedValues::Written written = values.write();
  EXPECT_EQ(written.numbers, 3);
  EXPECT_EQ(written.conflicts, 2);
  EXPECT_EQ(all[3], 11);
  EXPECT_EQ(all[4], 21);
  EXPECT_EQ(all[5], 6);
  EXPECT_EQ(all[6], 6);
}

TEST(SharedValues, ThreadsThatWriteDifferentNumbersLoseNothing) {
  const Arena shared(64);
  const auto count = [&](std::size_t place) {
    const Arena own(64);
    SharedValues values(shared, own, DType::f64);
    for (int i = 0; i < 500; ++i) {
      values.read();
      own.at<double>(0, 8)[place] += 1;
      values.write();
    }
  };
  {
    const std::jthread other([&] { count(5); });
    count(2);
  }
  EXPECT_EQ(shared.at<double>(0, 8)[2], 500);
  EXPECT_EQ(shared.at<double>(0, 8)[5], 500);
}

}  // namespace
}  // namespace hocket
