#include "cli/openmp_wait.h"

#include <unistd.h>

#include <cstdlib>

namespace hocket {

void limit_openmp_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("GOMP_SPINCOUNT", "3000", 1);  // Some ten microseconds.
  ::execv("/proc/self/exe", argv);  // Returns only when it fails; then threads spin, and all else works.
}

}  // namespace hocket
