#pragma once

#include <span>
#include <string>

#include "cli/bench/step_rows.h"

namespace hocket {

// The rows as `--json` prints them: one object each, with the raw samples.
std::string rows_as_json(std::span<const StepRow> rows);

// The rows for people: a line each, in the order given, with how much faster we are; after each model the
// best number of threads of each side and how well workers scale; at last the goals. Every peer's row needs
// one of ours beside it.
std::string rows_as_table(std::span<const StepRow> rows);

}  // namespace hocket
