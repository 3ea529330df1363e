#pragma once

#include <cstdint>

namespace hocket::kernel {

// An operand of sgemm: rows `stride` floats apart, read transposed where it says so.
struct Matrix {
  const float* data;
  std::int64_t stride;
  bool is_transposed = false;
};

// y (m, n; rows y_stride apart) = a (m, k) · b (k, n), or y + that, by oneDNN. The ISA must have been capped
// (isa.h) and the number of threads adopted (threads.h); inside a parallel loop it runs on the calling thread
// alone.
void sgemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix a, Matrix b, float* y,
           std::int64_t y_stride, bool adds = false);

}  // namespace hocket::kernel
