#pragma once

namespace hocket::kernel {

// The rate of f32 arithmetic that the kernels could reach at best on num_threads() threads, in FLOP/s: the
// larger of what multiply-adds between registers and a large product give now. Takes about 0.1 s a call; what
// other programs do on the machine lowers it, so callers keep the largest of several.
double measure_peak_flops();

}  // namespace hocket::kernel
