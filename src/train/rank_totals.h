#pragma once

#include "train/team.h"
#include "train/trainer.h"

namespace hocket {

// Fills in what the ranks came to together: the seconds of each, and bytes, messages and memory of all. Every
// rank calls it, with its own seconds in `result`, and gets all of it.
void add_up_ranks(Team& team, TrainResult& result);

}  // namespace hocket
