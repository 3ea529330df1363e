#pragma once

#include "report/run_data.h"

namespace hocket {

// Marks the bubbles of a pipeline in its trace: on the training thread of each rank, instead of its waits, a
// span "bubble" wherever it did not compute between its first action and its last, tests and checkpoints
// aside. Names the stage of each rank, of which `stages` have equally many, neighbours.
void mark_bubbles(TraceData& trace, int stages, int ranks);

}  // namespace hocket
