#pragma once

#include "net/job.h"

namespace hocket {

// Whether the process of `member` is on this host, neither stopped nor ended, whatever it says or leaves
// unsaid. False where that cannot be known.
bool is_running_here(const Member& member);

}  // namespace hocket
