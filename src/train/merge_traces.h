#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/team.h"
#include "train/trace.h"

namespace hocket {

// How many nanoseconds the steady clock of each rank is ahead of the first rank's: 0 on the same host, else
// the middle of what some barriers leave possible. Every rank calls it, and gets the same.
std::vector<std::int64_t> clock_offsets(Team& team);

// How far the clock of `other` is ahead, from when both entered and left the same barriers, by turns.
double clock_offset(std::span<const double> first, std::span<const double> other);

// The timelines of all ranks as one Chrome trace by the clock of the first rank, with the newest spans of
// each when there are many. Every rank calls it; the first gets the trace, the others an empty text.
std::string merge_traces(Team& team, const Timeline& timeline);

}  // namespace hocket
