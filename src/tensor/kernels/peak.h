#pragma once

namespace hocket::kernel {

// The f32 multiply-adds that one core of this machine reaches, in FLOP/s, measured now on the calling thread:
// vectors in registers only, the best of many short runs (about 40 ms in all). What shares of the peak are
// stated against.
double measure_f32_peak();

}  // namespace hocket::kernel
