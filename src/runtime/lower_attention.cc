#include "runtime/lowering.h"

namespace hocket {

std::vector<Lowering> attention_lowerings() { return {}; }

}  // namespace hocket
