#pragma once

#include <span>
#include <string>

#include "report/run_data.h"

namespace hocket {

// The parts of a report that need no script, as HTML.
std::string render_cards(const RunData& run);                  // The outcome of one run in large figures.
std::string render_comparison(std::span<const RunData> runs);  // One row a run.
std::string render_rank_table(std::span<const RunData> runs);  // Seconds; one row a rank, of several.
std::string render_summary_table(
    std::span<const RunData> runs);  // Every key of summary.json; a column a run.
std::string render_settings_table(std::span<const RunData> runs);  // Values and origins; a column a run.

}  // namespace hocket
