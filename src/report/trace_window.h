#pragma once

#include "report/run_data.h"

namespace hocket {

// What happened in the middle of a trace during `seconds`, with times from 0 on: at most `most` spans, and
// the lanes that have any.
TraceData trace_window(const TraceData& trace, double seconds, std::size_t most);

}  // namespace hocket
