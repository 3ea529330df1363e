#include "cli/version.h"

namespace hocket {

const char* const kVersion = HOCKET_VERSION;

}  // namespace hocket
