#include "base/pin.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

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

void take_short_turns() {
  struct {  // Of sched_setattr(2), which glibc does not declare.
    std::uint32_t size = sizeof(*this), policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100'000, deadline = 0, period = 0;  // In nanoseconds.
  } attributes;
  attributes.nice = ::nice(0);
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);  // Where it is not allowed, turns are long.
}

}  // namespace hocket
