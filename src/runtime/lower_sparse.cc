#include "runtime/lowering.h"

namespace hocket {

std::vector<Lowering> sparse_lowerings() { return {}; }

}  // namespace hocket
