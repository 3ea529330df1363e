#pragma once

#include <string>

#include "report/score.h"

namespace hocket {

// compare.html: one self-contained page with the scores, the charts and the runs of a comparison. It links to
// the runs' own reports beside it, loads nothing, and shows text from run folders as text only.
std::string render_comparison_page(const Comparison& comparison, const Scores& scores);

}  // namespace hocket
