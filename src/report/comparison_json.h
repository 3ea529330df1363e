#pragma once

#include <string>

#include "report/score.h"

namespace hocket {

// compare.json: one row per way with its scores, its curve and the figures of each run. Null stands for
// "never" and for what was not measured.
std::string to_json(const Comparison& comparison, const Scores& scores);

}  // namespace hocket
