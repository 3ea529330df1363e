#pragma once

#include <string>
#include <vector>

#include "report/score.h"

namespace hocket {

// The best way by one criterion.
struct Winner {
  std::string criterion;
  std::size_t way = 0;
  std::string figure;  // What it won by, for people.
};

// Among the ways of several workers where there are two of them or more, else among all. A criterion by which
// none can be told to be the best, such as a target that none reached, has no winner.
std::vector<Winner> winners(const Comparison& comparison, const Scores& scores);

}  // namespace hocket
