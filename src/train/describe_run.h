#pragma once

#include <string>

#include "train/session.h"

namespace hocket {

// The line that tells of a run as it starts: its model, data, and who trains. `agreeing`: how replicas agree,
// empty where that goes without saying.
std::string describe_run(const TrainOptions& options, const SessionData& data, const Session& session,
                         const Team& team, const std::string& agreeing);

}  // namespace hocket
