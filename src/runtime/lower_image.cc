#include "runtime/lowering.h"

namespace hocket {

std::vector<Lowering> image_lowerings() { return {}; }

}  // namespace hocket
