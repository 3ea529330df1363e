#include "base/pin.h"

#include <sched.h>

namespace hocket {

void pin_to_part(int index, int count) {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
  const int cores = CPU_COUNT(&all);
  if (count > cores) return;
  cpu_set_t part;
  CPU_ZERO(&part);
  for (int cpu = 0, nth = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    if (nth >= cores * index / count && nth < cores * (index + 1) / count) CPU_SET(cpu, &part);
    ++nth;
  }
  ::sched_setaffinity(0, sizeof part,
                      &part);  // Where it is not allowed, the kernel places threads as it likes.
}

}  // namespace hocket
