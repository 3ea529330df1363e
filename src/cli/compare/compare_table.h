#pragma once

#include <string>

#include "report/score.h"

namespace hocket {

// A comparison for people, at most 110 columns wide: what each way needed to reach the target and at what
// cost, how good and steady its models are and where its time went, and what went wrong.
std::string describe(const Comparison& comparison, const Scores& scores);

}  // namespace hocket
