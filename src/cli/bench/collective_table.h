#pragma once

#include <span>
#include <string>

#include "cli/bench/collective_rounds.h"

namespace hocket {

// The rows as `--json` prints them.
std::string rows_as_json(std::span<const CollectiveRow> rows);

// The rows for people: a line per measurement of ours, with the peers' beside it, and then the goals.
std::string rows_as_table(std::span<const CollectiveRow> rows);

// A size as one types it: "4 B", "64 KiB", "16 MiB".
std::string size_text(std::size_t bytes);

}  // namespace hocket
