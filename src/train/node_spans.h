#pragma once

#include <filesystem>
#include <string>

#include "train/trace.h"

namespace hocket {

// The timelines of the workers of a parameter server find each other in the run folder, on one host: the
// recorder says when its own begins, each worker leaves its spans as it ends, and the recorder joins them to
// one Chrome trace.
void begin_node_spans(const std::filesystem::path& run_folder, Timeline::Time origin);
void leave_node_spans(const std::filesystem::path& run_folder, int worker, const Timeline& timeline);
// Waits a moment for workers that have not ended. Their spans are those of ranks 0 to workers - 1, the
// recorder's those of the next.
std::string collect_node_spans(const std::filesystem::path& run_folder, int workers,
                               const Timeline& recorder);

}  // namespace hocket
