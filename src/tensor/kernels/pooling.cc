#include "tensor/kernels/pooling.h"

#include <algorithm>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

// Pooling of images with channels last, a vector of channels at a time. One image is one piece of parallel
// work.
#ifndef HOCKET_TENSOR_KERNELS_POOLING_WINDOW_
#define HOCKET_TENSOR_KERNELS_POOLING_WINDOW_
namespace hocket::kernel {

// The taps [first, last) of a window that lie inside an image of `size`, along one dimension.
struct Taps {
  Taps(const PoolSpec& s, std::int64_t output, std::int64_t size)
      : start(output * s.stride - s.padding),
        first(std::max<std::int64_t>(0, -start)),
        last(std::min(s.kernel, size - start)) {}

  std::int64_t start;  // Position in the image of tap 0.
  std::int64_t first, last;
};

}  // namespace hocket::kernel
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/pooling.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// The part of a window that lies inside the image.
struct Window {
  const PoolSpec& s;
  Taps rows, columns;

  HWY_INLINE std::int64_t first_tap() const { return rows.first * s.kernel + columns.first; }

  // Calls body(tap, pixel) for each tap, row by row: `tap` counts the positions of the window, `pixel` those
  // of the image.
  template <typename Body>
  HWY_INLINE void for_each_tap(const Body& body) const {
    for (std::int64_t ky = rows.first; ky < rows.last; ++ky) {
      for (std::int64_t kx = columns.first; kx < columns.last; ++kx)
        body(ky * s.kernel + kx, (rows.start + ky) * s.w + columns.start + kx);
    }
  }
};

// A window of kSide × kSide that lies inside as a whole.
template <int kSide>
struct WholeWindow {
  std::int64_t first, width;  // Pixel of tap 0; pixels of a row of the image.

  HWY_INLINE std::int64_t first_tap() const { return 0; }

  template <typename Body>
  HWY_INLINE void for_each_tap(const Body& body) const {
#pragma GCC unroll 3
    for (int ky = 0; ky < kSide; ++ky) {
#pragma GCC unroll 3
      for (int kx = 0; kx < kSide; ++kx) body(ky * kSide + kx, first + ky * width + kx);
    }
  }
};

// Calls body(window) for each window of an image, row by row.
template <typename Body>
HWY_INLINE void for_each_window(const PoolSpec& s, const Body& body) {
  // The columns whose windows do not reach over the sides.
  const std::int64_t begin = (s.padding + s.stride - 1) / s.stride;
  const std::int64_t end = (s.w + s.padding - s.kernel) / s.stride + 1;
  for (std::int64_t oy = 0; oy < s.oh(); ++oy) {
    const Taps rows(s, oy, s.h);
    const bool is_inside = rows.last - rows.first == s.kernel;
    for (std::int64_t ox = 0; ox < s.ow(); ++ox) {
      const std::int64_t first = rows.start * s.w + ox * s.stride - s.padding;
      const bool is_whole = is_inside && ox >= begin && ox < end;
      if (is_whole && s.kernel == 2) {
        body(WholeWindow<2>{first, s.w});
      } else if (is_whole && s.kernel == 3) {
        body(WholeWindow<3>{first, s.w});
      } else {
        body(Window{s, rows, Taps(s, ox, s.w)});
      }
    }
  }
}

// The floats to the window below, which is fetched ahead: a row of windows is too short for the processor to
// guess where the next one goes on.
HWY_INLINE std::int64_t to_next_row(const PoolSpec& s) { return s.stride * s.w * s.c; }

// Small whole numbers, in memory one byte each.
using Bytes = hn::Rebind<std::uint8_t, Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using WordVec = hn::Vec<Words>;

HWY_INLINE WordVec word(std::int64_t value) { return hn::Set(Words(), static_cast<std::uint32_t>(value)); }
HWY_INLINE void store_bytes(WordVec v, std::uint8_t* p, Whole) {
  hn::StoreU(hn::TruncateTo(Bytes(), v), Bytes(), p);
}
HWY_INLINE void store_bytes(WordVec v, std::uint8_t* p, Part part) {
  HWY_ALIGN std::uint8_t lane[hn::MaxLanes(kFloats)];
  store_bytes(v, lane, Whole{});
  std::copy_n(lane, part.count, p);
}
HWY_INLINE WordVec load_bytes(const std::uint8_t* p, Whole) {
  return hn::PromoteTo(Words(), hn::LoadU(Bytes(), p));
}
HWY_INLINE WordVec load_bytes(const std::uint8_t* p, Part part) {
  HWY_ALIGN std::uint8_t lane[hn::MaxLanes(kFloats)] = {};
  std::copy_n(p, part.count, lane);
  return load_bytes(lane, Whole{});
}

void max_pool_image(PoolSpec s, const float* x, float* y, std::uint8_t* index) {
  const auto channels = static_cast<std::size_t>(s.c);
  const std::int64_t ahead = to_next_row(s);
  for_each_window(s, [&](const auto& window) HWY_ATTR {
    for_vectors(channels, [&](std::size_t c, auto lane) HWY_ATTR {
      Vec most = zero();
      WordVec at = word(0);
      window.for_each_tap([&](std::int64_t tap, std::int64_t pixel) HWY_ATTR {
        const Vec value = lane.load(x + pixel * s.c + c);
        __builtin_prefetch(x + pixel * s.c + c + ahead);
        if (tap == window.first_tap()) {  // NaN is kept, as the reference does.
          most = value;
          at = word(tap);
          return;
        }
        const FloatMask is_more = hn::Gt(value, most);
        most = hn::IfThenElse(is_more, value, most);
        at = hn::IfThenElse(hn::RebindMask(Words(), is_more), word(tap), at);
      });
      lane.store(most, y + c);
      store_bytes(at, index + c, lane);
    });
    y += channels;
    index += channels;
  });
}

// Windows that do not overlap write their taps; others add to what is there. `dx` is zero where it has to be.
void max_pool_dx_image(PoolSpec s, const float* dy, const std::uint8_t* index, float* dx) {
  const auto channels = static_cast<std::size_t>(s.c);
  const bool overlap = s.kernel > s.stride;
  const std::int64_t ahead = to_next_row(s);
  for_each_window(s, [&](const auto& window) HWY_ATTR {
    for_vectors(channels, [&](std::size_t c, auto lane) HWY_ATTR {
      const Vec gradient = lane.load(dy + c);
      const WordVec chosen = load_bytes(index + c, lane);
      window.for_each_tap([&](std::int64_t tap, std::int64_t pixel) HWY_ATTR {
        float* target = dx + pixel * s.c + c;
        __builtin_prefetch(target + ahead);
        const Vec own = hn::IfThenElseZero(hn::RebindMask(kFloats, hn::Eq(chosen, word(tap))), gradient);
        lane.store(overlap ? hn::Add(own, lane.load(target)) : own, target);
      });
    });
    dy += channels;
    index += channels;
  });
}

void avg_pool_image(PoolSpec s, const float* x, float* y) {
  const auto channels = static_cast<std::size_t>(s.c);
  const Vec share = splat(1.0F / static_cast<float>(s.kernel * s.kernel));
  for_each_window(s, [&](const auto& window) HWY_ATTR {
    for_vectors(channels, [&](std::size_t c, auto lane) HWY_ATTR {
      Vec sum = zero();
      window.for_each_tap([&](std::int64_t, std::int64_t pixel)
                              HWY_ATTR { sum = hn::Add(sum, lane.load(x + pixel * s.c + c)); });
      lane.store(hn::Mul(sum, share), y + c);
    });
    y += channels;
  });
}

void avg_pool_dx_image(PoolSpec s, const float* dy, float* dx) {
  const auto channels = static_cast<std::size_t>(s.c);
  const Vec share = splat(1.0F / static_cast<float>(s.kernel * s.kernel));
  for_each_window(s, [&](const auto& window) HWY_ATTR {
    for_vectors(channels, [&](std::size_t c, auto lane) HWY_ATTR {
      const Vec gradient = hn::Mul(lane.load(dy + c), share);
      window.for_each_tap([&](std::int64_t, std::int64_t pixel) HWY_ATTR {
        float* target = dx + pixel * s.c + c;
        lane.store(hn::Add(gradient, lane.load(target)), target);
      });
    });
    dy += channels;
  });
}

void global_avg_pool_image(const PoolSpec& s, const float* x, float* y) {
  const float share = 1.0F / static_cast<float>(s.h * s.w);
  if (s.layout == Layout::plain) {
    const auto pixels = static_cast<std::size_t>(s.h * s.w);
    for (std::int64_t c = 0; c < s.c; ++c, x += pixels) y[c] = share * sum_of_row(x, pixels);
    return;
  }
  for_vectors(static_cast<std::size_t>(s.c), [&](std::size_t c, auto lane) HWY_ATTR {
    Vec sum = zero();
    for (std::int64_t pixel = 0; pixel < s.h * s.w; ++pixel)
      sum = hn::Add(sum, lane.load(x + pixel * s.c + c));
    lane.store(hn::Mul(sum, splat(share)), y + c);
  });
}

void global_avg_pool_dx_image(const PoolSpec& s, const float* dy, float* dx) {
  const float share = 1.0F / static_cast<float>(s.h * s.w);
  if (s.layout == Layout::plain) {
    for (std::int64_t c = 0; c < s.c; ++c) dx = std::fill_n(dx, s.h * s.w, share * dy[c]);
    return;
  }
  for (std::int64_t pixel = 0; pixel < s.h * s.w; ++pixel, dx += s.c) {
    for_vectors(static_cast<std::size_t>(s.c), [&](std::size_t c, auto lane) HWY_ATTR {
      lane.store(hn::Mul(lane.load(dy + c), splat(share)), dx + c);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(max_pool_image);
HWY_EXPORT(max_pool_dx_image);
HWY_EXPORT(avg_pool_image);
HWY_EXPORT(avg_pool_dx_image);
HWY_EXPORT(global_avg_pool_image);
HWY_EXPORT(global_avg_pool_dx_image);

// With one channel the two layouts are one. The index of a tap is a byte.
bool is_supported(const PoolSpec& s) {
  return s.dtype == DType::f32 && (s.layout == Layout::channels_last || s.c == 1) &&
         s.kernel * s.kernel <= 256 && s.padding < s.kernel;
}

std::int64_t input_size(const PoolSpec& s) { return s.c * s.h * s.w; }
std::int64_t output_size(const PoolSpec& s) { return s.c * s.oh() * s.ow(); }

bool windows_cover(const PoolSpec& s) {
  return s.stride == s.kernel && s.padding == 0 && s.h % s.stride == 0 && s.w % s.stride == 0;
}

// The kernel that runs body(in, out, image) for each image.
template <typename Body>
std::unique_ptr<Kernel> make_image_kernel(const PoolSpec& spec, Body body) {
  return make_kernel([spec, body](Buffers in, Buffers out) {
    const std::int64_t grain = std::max<std::int64_t>(kElementGrain / input_size(spec), 1);
    parallel_for(spec.n, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t image = begin; image < end; ++image) body(in, out, image);
    });
  });
}

}  // namespace

void max_pool_images(const PoolSpec& spec, std::int64_t first, std::int64_t count, const float* x, float* y,
                     std::uint8_t* index) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t to = (first + i) * output_size(spec);
    HWY_DYNAMIC_DISPATCH(max_pool_image)(spec, x + i * input_size(spec), y + to, index + to);
  }
}

void max_pool_dx_images(const PoolSpec& spec, std::int64_t first, std::int64_t count, const float* dy,
                        const std::uint8_t* index, float* dx) {
  if (!windows_cover(spec)) std::fill_n(dx, count * input_size(spec), 0.0F);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = (first + i) * output_size(spec);
    HWY_DYNAMIC_DISPATCH(max_pool_dx_image)(spec, dy + from, index + from, dx + i * input_size(spec));
  }
}

std::unique_ptr<Kernel> make_max_pool(const PoolSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_image_kernel(spec, [spec](Buffers in, Buffers out, std::int64_t image) {
    max_pool_images(spec, image, 1, operand(in, 0) + image * input_size(spec), operand(out, 0),
                    operand<std::uint8_t>(out, 1));
  });
}

std::unique_ptr<Kernel> make_max_pool_dx(const PoolSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_image_kernel(spec, [spec](Buffers in, Buffers out, std::int64_t image) {
    max_pool_dx_images(spec, image, 1, operand(in, 0), operand<const std::uint8_t>(in, 1),
                       operand(out, 0) + image * input_size(spec));
  });
}

std::unique_ptr<Kernel> make_avg_pool(const PoolSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_image_kernel(spec, [spec](Buffers in, Buffers out, std::int64_t image) {
    HWY_DYNAMIC_DISPATCH(avg_pool_image)
    (spec, operand(in, 0) + image * input_size(spec), operand(out, 0) + image * output_size(spec));
  });
}

std::unique_ptr<Kernel> make_avg_pool_dx(const PoolSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return make_image_kernel(spec, [spec](Buffers in, Buffers out, std::int64_t image) {
    float* dx = operand(out, 0) + image * input_size(spec);
    std::fill_n(dx, input_size(spec), 0.0F);
    HWY_DYNAMIC_DISPATCH(avg_pool_dx_image)(spec, operand(in, 0) + image * output_size(spec), dx);
  });
}

std::unique_ptr<Kernel> make_global_avg_pool(const PoolSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_image_kernel(spec, [spec](Buffers in, Buffers out, std::int64_t image) {
    HWY_DYNAMIC_DISPATCH(global_avg_pool_image)
    (spec, operand(in, 0) + image * input_size(spec), operand(out, 0) + image * spec.c);
  });
}

std::unique_ptr<Kernel> make_global_avg_pool_dx(const PoolSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_image_kernel(spec, [spec](Buffers in, Buffers out, std::int64_t image) {
    HWY_DYNAMIC_DISPATCH(global_avg_pool_dx_image)
    (spec, operand(in, 0) + image * spec.c, operand(out, 0) + image * input_size(spec));
  });
}

}  // namespace hocket::kernel
#endif
