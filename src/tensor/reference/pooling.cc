#include "tensor/reference/pooling.h"

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

ImageIndex input_index(const PoolSpec& s) { return {s.c, s.h, s.w, s.layout}; }
ImageIndex output_index(const PoolSpec& s) { return {s.c, s.oh(), s.ow(), s.layout}; }

// Calls `body(n, c, y, x)` for every position of an image of this size.
template <typename Body>
void for_each_position(std::int64_t images, const ImageIndex& size, Body body) {
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t c = 0; c < size.c; ++c) {
      for (std::int64_t y = 0; y < size.h; ++y) {
        for (std::int64_t x = 0; x < size.w; ++x) body(n, c, y, x);
      }
    }
  }
}

// Calls `body(tap, iy, ix)` for the taps of the window of output (oy, ox) that are not padding, row by row.
template <typename Body>
void for_each_tap(const PoolSpec& s, std::int64_t oy, std::int64_t ox, Body body) {
  for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
    const std::int64_t iy = oy * s.stride - s.padding + tap / s.kernel;
    const std::int64_t ix = ox * s.stride - s.padding + tap % s.kernel;
    if (iy >= 0 && iy < s.h && ix >= 0 && ix < s.w) body(tap, iy, ix);
  }
}

// Sums `value(n, c, oy, ox, tap)` over the windows and taps that cover input (iy, ix).
template <typename Value>
double sum_over_windows(const PoolSpec& s, std::int64_t iy, std::int64_t ix, Value value) {
  double sum = 0;
  for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
    const std::int64_t y = iy + s.padding - tap / s.kernel;
    const std::int64_t x = ix + s.padding - tap % s.kernel;
    if (y < 0 || x < 0 || y % s.stride != 0 || x % s.stride != 0) continue;
    if (y / s.stride < s.oh() && x / s.stride < s.ow()) sum += value(y / s.stride, x / s.stride, tap);
  }
  return sum;
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const PoolSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const ImageIndex from = input_index(spec);
    const ImageIndex to = output_index(spec);
    for_each_position(spec.n, to, [&](std::int64_t n, std::int64_t c, std::int64_t oy, std::int64_t ox) {
      T& most = operand<T>(out, 0)[to(n, c, oy, ox)];
      std::uint8_t& index = operand<std::uint8_t>(out, 1)[to(n, c, oy, ox)];
      bool is_first = true;
      for_each_tap(spec, oy, ox, [&](std::int64_t tap, std::int64_t iy, std::int64_t ix) {
        const T value = operand<T>(in, 0)[from(n, c, iy, ix)];
        if (!is_first && !(value > most)) return;
        most = value;
        index = static_cast<std::uint8_t>(tap);
        is_first = false;
      });
    });
  });
}

std::unique_ptr<Kernel> make_max_pool_dx(const PoolSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const ImageIndex at = output_index(spec);
    const std::uint8_t* index = operand<std::uint8_t>(in, 1);
    T* dx = operand<T>(out, 0);
    for_each_position(
        spec.n, input_index(spec), [&](std::int64_t n, std::int64_t c, std::int64_t iy, std::int64_t ix) {
          const double sum =
              sum_over_windows(spec, iy, ix, [&](std::int64_t oy, std::int64_t ox, std::int64_t tap) {
                const std::int64_t i = at(n, c, oy, ox);
                return index[i] == tap ? static_cast<double>(operand<T>(in, 0)[i]) : 0.0;
              });
          dx[input_index(spec)(n, c, iy, ix)] = static_cast<T>(sum);
        });
  });
}

std::unique_ptr<Kernel> make_avg_pool(const PoolSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const ImageIndex to = output_index(spec);
    for_each_position(spec.n, to, [&](std::int64_t n, std::int64_t c, std::int64_t oy, std::int64_t ox) {
      double sum = 0;
      for_each_tap(spec, oy, ox, [&](std::int64_t, std::int64_t iy, std::int64_t ix) {
        sum += operand<T>(in, 0)[input_index(spec)(n, c, iy, ix)];
      });
      operand<T>(out, 0)[to(n, c, oy, ox)] =
          static_cast<T>(sum / static_cast<double>(spec.kernel * spec.kernel));
    });
  });
}

std::unique_ptr<Kernel> make_avg_pool_dx(const PoolSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const ImageIndex at = output_index(spec);
    T* dx = operand<T>(out, 0);
    for_each_position(
        spec.n, input_index(spec), [&](std::int64_t n, std::int64_t c, std::int64_t iy, std::int64_t ix) {
          const double sum =
              sum_over_windows(spec, iy, ix, [&](std::int64_t oy, std::int64_t ox, std::int64_t) {
                return static_cast<double>(operand<T>(in, 0)[at(n, c, oy, ox)]);
              });
          dx[input_index(spec)(n, c, iy, ix)] =
              static_cast<T>(sum / static_cast<double>(spec.kernel * spec.kernel));
        });
  });
}

std::unique_ptr<Kernel> make_global_avg_pool(const PoolSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.n * spec.c; ++i) {
      double sum = 0;
      for (std::int64_t y = 0; y < spec.h; ++y) {
        for (std::int64_t x = 0; x < spec.w; ++x) {
          sum += operand<T>(in, 0)[input_index(spec)(i / spec.c, i % spec.c, y, x)];
        }
      }
      operand<T>(out, 0)[i] = static_cast<T>(sum / static_cast<double>(spec.h * spec.w));
    }
  });
}

std::unique_ptr<Kernel> make_global_avg_pool_dx(const PoolSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const ImageIndex at = input_index(spec);
    for_each_position(spec.n, at, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
      const double dy = operand<T>(in, 0)[n * spec.c + c];
      operand<T>(out, 0)[at(n, c, y, x)] = static_cast<T>(dy / static_cast<double>(spec.h * spec.w));
    });
  });
}

}  // namespace hocket::reference
