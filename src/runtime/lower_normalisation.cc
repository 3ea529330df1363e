#include "runtime/lowering.h"

namespace hocket {

std::vector<Lowering> normalisation_lowerings() { return {}; }

}  // namespace hocket
