#pragma once

#include <string>

#include "collective/collective.h"
#include "collective/schedule.h"

namespace hocket {

// One action in words: "recv_reduce data [4, 8) from rank 2".
std::string text_of(const Action& action);

// The schedules of all ranks as a table, a line a round and rank: which chunk goes to whom, what arrives
// (`<-`) or is added (`+=`), and which of the links that the algorithm uses are idle. The call must be
// supported.
std::string show(const Call& call);

}  // namespace hocket
