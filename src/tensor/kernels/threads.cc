#include "tensor/kernels/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace hocket::kernel {
namespace {

std::atomic<int> threads_in_use{1};

}  // namespace

void set_num_threads(int threads) {
  // oneDNN waits for every thread that it asked for: never more than OpenMP grants.
  threads_in_use.store(std::clamp(threads, 1, omp_get_thread_limit()), std::memory_order_relaxed);
  adopt_num_threads();
}

int num_threads() { return threads_in_use.load(std::memory_order_relaxed); }

void adopt_num_threads() {
  thread_local int adopted = 0;
  const int wanted = num_threads();
  if (adopted == wanted) return;
  omp_set_num_threads(wanted);
  adopted = wanted;
}

void parallel_ranges(std::int64_t count, std::int64_t grain, RangeBody body) {
  const std::int64_t blocks = (count + grain - 1) / grain;
  const int team = static_cast<int>(std::min<std::int64_t>(blocks, num_threads()));
#pragma omp parallel num_threads(team)
  {
    const std::int64_t self = omp_get_thread_num();
    const std::int64_t all = omp_get_num_threads();
    const std::int64_t begin = blocks * self / all * grain;
    const std::int64_t end = std::min(count, blocks * (self + 1) / all * grain);
    if (begin < end) body.call(body.closure, begin, end);
  }
}

}  // namespace hocket::kernel
