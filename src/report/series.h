#pragma once

#include <cstddef>
#include <vector>

namespace hocket {

// One value of a metric and when it was taken. The value is NaN where the run wrote null.
struct Point {
  double step = 0;
  double epoch = 0;
  double seconds = 0;
  double value = 0;
};

using Series = std::vector<Point>;

// At most about `most` points that draw like all of them: of each stretch its first, lowest, highest and last
// point, and a gap if it has one.
Series thin_out(const Series& series, std::size_t most);

// A moving average to both sides whose weights halve every hundredth of the series. Gaps stay gaps.
Series smooth(const Series& series);

}  // namespace hocket
