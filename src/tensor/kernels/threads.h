#pragma once

#include <cstdint>

namespace hocket::kernel {

// How many OpenMP threads the kernels of this process use, those of oneDNN included; one until it is set. Set
// it before kernels are made. Thread-safe.
void set_num_threads(int threads);
int num_threads();

// Makes oneDNN's calls from this thread use num_threads(): OpenMP keeps its setting per calling thread.
void adopt_num_threads();

// A body of parallel_for without its type: a plain function pointer and its closure.
struct RangeBody {
  void (*call)(const void* closure, std::int64_t begin, std::int64_t end);
  const void* closure;
};

void parallel_ranges(std::int64_t count, std::int64_t grain, RangeBody body);

// Calls body(begin, end) on ranges that together cover [0, count), in parallel where there are more than
// `grain` items and more than one thread. Ranges begin at multiples of `grain`. Bodies must not throw.
template <typename Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  if (num_threads() == 1 || count <= grain) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  const auto call = [](const void* closure, std::int64_t begin, std::int64_t end) {
    (*static_cast<const Body*>(closure))(begin, end);
  };
  parallel_ranges(count, grain, {call, &body});
}

}  // namespace hocket::kernel
