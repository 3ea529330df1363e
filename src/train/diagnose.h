#pragma once

#include <string>

#include "runtime/executable.h"

namespace hocket {

// Runs forward again on the batch bound to `slot`, looking at every tensor on the way, and says which one is
// the first that is not finite: an input, a parameter, or the output of a node. Called once, when the loss is
// not finite.
std::string first_bad_tensor(Executable& executable, Slot& slot, const Bindings& bindings);

}  // namespace hocket
