#pragma once

#include "net/clock.h"
#include "net/exchange.h"
#include "net/rank.h"

namespace hocket {

// An exchange by PMI-1, the line protocol that MPICH's and Slurm's launchers speak on the descriptor PMI_FD:
// every rank puts its bytes, passes a barrier and gets those of the others. The descriptor stays open; the
// session ends with the last copy of the function. Used by one thread; throws NetError.
Exchange pmi_exchange(int fd, Rank rank, int world_size, Seconds timeout);

}  // namespace hocket
