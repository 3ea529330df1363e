#pragma once

#include <span>
#include <string>

#include "report/run_data.h"

namespace hocket {

// One HTML page with the curves, figures, settings and timelines of the runs, several runs in one picture. It
// holds all it needs, loads nothing, and shows text from run folders as text only. Needs at least one run.
std::string render_report(std::span<const RunData> runs);

}  // namespace hocket
