#pragma once

#include <string>

#include "plan/pipeline_replay.h"

namespace hocket {

// The replay as lines of text, one a stage: F3 is the forward of micro-batch 3, B3 its backward, = goes on
// with it, a dot waits; a chunk other than 0 stands behind a dot, and U is an update. A column is as long as
// the shortest forward or backward, or longer where the line would be wider than `width`.
std::string chart_of(const PipelineReplay& replay, int width = 500);

}  // namespace hocket
