#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace hocket {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "hocket: bug at %s:%d: %s does not hold. %s\n", file, line, condition,
               message.c_str());
  std::abort();
}

}  // namespace hocket
