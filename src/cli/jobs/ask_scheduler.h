#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/jobs/scheduler_place.h"

namespace hocket {

// The coordinator's answer to a client's request (client_requests.h). What it refuses is thrown: ConfigError
// or Error; NetError when it does not answer within `patience`.
nlohmann::json ask_scheduler(const SchedulerPlace& place, const nlohmann::json& request,
                             Seconds patience = Seconds(10));

}  // namespace hocket
