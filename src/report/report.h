#pragma once

#include <span>
#include <string>

#include "report/run_data.h"

namespace hocket {

// One HTML page with the curves, figures, settings and timelines of the runs, several runs in one picture. It
// holds all it needs, loads nothing, and shows text from run folders as text only. Needs at least one run.
std::string render_report(std::span<const RunData> runs);

// The same for hocket serve: it asks the address `api` for render_live_data() again and again, and shows what
// has changed. `version` is another one whenever a run has changed.
std::string render_live_report(std::span<const RunData> runs, const std::string& version,
                               const std::string& api);
std::string render_live_data(std::span<const RunData> runs, const std::string& version);

}  // namespace hocket
