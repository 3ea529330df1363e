#include "tensor/kernels/narrow_conv.h"

#include <algorithm>
#include <array>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/pooling.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

// Every image is first copied with its border of zeros, so that the loops have no edges. A tap is one
// position of the filter and one input channel; a vector holds output channels. Forward, a run of output
// pixels stays in registers while the taps go by; for the gradient, a group of taps stays in registers while
// the pixels go by.
#ifndef HOCKET_TENSOR_KERNELS_NARROW_CONV_SHAPE_
#define HOCKET_TENSOR_KERNELS_NARROW_CONV_SHAPE_
namespace hocket::kernel {

constexpr std::int64_t kMostTaps = 25;
constexpr std::int64_t kTapGroup = 9;

struct NarrowShape {
  std::int64_t oh, ow, outputs, taps;
  std::int64_t row_step, pixel_step;            // In the bordered image, between neighbouring outputs.
  std::array<std::int64_t, kMostTaps> offsets;  // Of the taps, in the bordered image.
};

}  // namespace hocket::kernel
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/narrow_conv.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// Calls body(o, lane, vectors) over the output channels, two vectors at a time and then one.
template <typename Body>
HWY_INLINE void for_channel_blocks(std::size_t outputs, const Body& body) {
  const std::size_t step = lanes();
  std::size_t o = 0;
  for (; o + 2 * step <= outputs; o += 2 * step) body(o, Whole{}, std::integral_constant<int, 2>());
  for (; o + step <= outputs; o += step) body(o, Whole{}, std::integral_constant<int, 1>());
  if (o < outputs) body(o, Part{outputs - o}, std::integral_constant<int, 1>());
}

// `kPixels` neighbouring outputs, kVectors·lanes channels of each. w is (tap, output).
template <int kPixels, int kVectors, typename Lane>
HWY_INLINE void forward_block(const NarrowShape& s, const float* x, const float* w, const float* bias,
                              bool with_relu, Lane lane, float* y) {
  const std::size_t step = lanes();
  Vec sums[kPixels][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const Vec start = bias == nullptr ? zero() : lane.load(bias + static_cast<std::size_t>(v) * step);
    for (int p = 0; p < kPixels; ++p) sums[p][v] = start;
  }
  for (std::int64_t tap = 0; tap < s.taps; ++tap, w += s.outputs) {
    const float* at = x + s.offsets[static_cast<std::size_t>(tap)];
    Vec weight[kVectors];
    for (int v = 0; v < kVectors; ++v) weight[v] = lane.load(w + static_cast<std::size_t>(v) * step);
    for (int p = 0; p < kPixels; ++p) {
      const Vec value = splat(at[p * s.pixel_step]);
      for (int v = 0; v < kVectors; ++v) sums[p][v] = hn::MulAdd(value, weight[v], sums[p][v]);
    }
  }
  for (int p = 0; p < kPixels; ++p, y += s.outputs) {
    for (int v = 0; v < kVectors; ++v) {
      lane.store(with_relu ? relu(sums[p][v]) : sums[p][v], y + static_cast<std::size_t>(v) * step);
    }
  }
}

void narrow_forward(const NarrowShape& s, const float* x, const float* w, const float* bias, bool with_relu,
                    float* y) {
  constexpr int kPixels = 7;
  for_channel_blocks(static_cast<std::size_t>(s.outputs),
                     [&](std::size_t o, auto lane, auto vectors) HWY_ATTR {
                       const float* own_bias = bias == nullptr ? nullptr : bias + o;
                       for (std::int64_t row = 0; row < s.oh; ++row) {
                         const float* from = x + row * s.row_step;
                         float* to = y + row * s.ow * s.outputs + o;
                         std::int64_t column = 0;
                         for (; column + kPixels <= s.ow; column += kPixels) {
                           forward_block<kPixels, vectors()>(s, from + column * s.pixel_step, w + o, own_bias,
                                                             with_relu, lane, to + column * s.outputs);
                         }
                         for (; column < s.ow; ++column) {
                           forward_block<1, vectors()>(s, from + column * s.pixel_step, w + o, own_bias,
                                                       with_relu, lane, to + column * s.outputs);
                         }
                       }
                     });
}

// Adds to dw (tap, output) the products of kTaps taps from `first` on with dy, over one image; to dbias, if
// not null, dy.
template <int kTaps, int kVectors, typename Lane>
HWY_INLINE void gradient_block(const NarrowShape& s, const float* dy, const float* x, std::int64_t first,
                               Lane lane, float* dw, float* dbias) {
  const std::size_t step = lanes();
  Vec sums[kTaps][kVectors], total[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    for (int t = 0; t < kTaps; ++t) sums[t][v] = zero();
    total[v] = zero();
  }
  const std::int64_t* offsets = s.offsets.data() + first;
  for (std::int64_t row = 0; row < s.oh; ++row) {
    const float* at = x + row * s.row_step;
    for (std::int64_t column = 0; column < s.ow; ++column, at += s.pixel_step, dy += s.outputs) {
      Vec gradient[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        gradient[v] = lane.load(dy + static_cast<std::size_t>(v) * step);
        total[v] = hn::Add(total[v], gradient[v]);
      }
      for (int t = 0; t < kTaps; ++t) {
        const Vec value = splat(at[offsets[t]]);
        for (int v = 0; v < kVectors; ++v) sums[t][v] = hn::MulAdd(value, gradient[v], sums[t][v]);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    const std::size_t at = static_cast<std::size_t>(v) * step;
    for (int t = 0; t < kTaps; ++t) {
      float* target = dw + (first + t) * s.outputs + at;
      lane.store(hn::Add(lane.load(target), sums[t][v]), target);
    }
    if (dbias != nullptr) lane.store(hn::Add(lane.load(dbias + at), total[v]), dbias + at);
  }
}

void narrow_gradient(const NarrowShape& s, const float* dy, const float* x, float* dw, float* dbias) {
  for_channel_blocks(static_cast<std::size_t>(s.outputs), [&](std::size_t o, auto lane,
                                                              auto vectors) HWY_ATTR {
    std::int64_t tap = 0;
    for (; tap + kTapGroup <= s.taps; tap += kTapGroup) {
      gradient_block<kTapGroup, vectors()>(s, dy + o, x, tap, lane, dw + o, tap == 0 ? dbias + o : nullptr);
    }
    for (; tap < s.taps; ++tap) {
      gradient_block<1, vectors()>(s, dy + o, x, tap, lane, dw + o, tap == 0 ? dbias + o : nullptr);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(narrow_forward);
HWY_EXPORT(narrow_gradient);

bool is_supported(const ConvSpec& s) {
  return s.dtype == DType::f32 && s.input_dtype == DType::f32 && s.groups == 1 &&
         s.c * s.kh * s.kw <= kMostTaps && s.n * s.c * s.o * s.oh() * s.ow() > 0 &&
         (s.layout == Layout::channels_last || (s.c == 1 && s.o == 1));
}

class NarrowConv : public Kernel {
 public:
  std::size_t scratch_bytes() const final { return plan_.size(); }

 protected:
  explicit NarrowConv(const ConvSpec& s)
      : spec_(s),
        width_(s.w + 2 * s.padding),
        image_floats_((s.h + 2 * s.padding) * width_ * s.c),
        shape_{s.pool > 1 ? s.pool : s.oh(), s.ow(),         s.o, s.kh * s.kw * s.c,
               s.stride * width_ * s.c,      s.stride * s.c, {}} {
    for (std::int64_t tap = 0; tap < shape_.taps; ++tap) {
      const std::int64_t position = tap / s.c;
      shape_.offsets[static_cast<std::size_t>(tap)] =
          (position / s.kw * width_ + position % s.kw) * s.c + tap % s.c;
    }
  }

  // Where the weight of `output` and `tap` lies in the plain (o, c, kh, kw) tensor.
  std::int64_t plain_index(std::int64_t output, std::int64_t tap) const {
    return (output * spec_.c + tap % spec_.c) * spec_.kh * spec_.kw + tap / spec_.c;
  }

  // Copies one image into `bordered`, whose border is zero already.
  void copy_image(const float* x, float* bordered) const {
    float* to = bordered + (spec_.padding * width_ + spec_.padding) * spec_.c;
    for (std::int64_t row = 0; row < spec_.h; ++row, x += spec_.w * spec_.c, to += width_ * spec_.c) {
      std::copy_n(x, spec_.w * spec_.c, to);
    }
  }

  // Room for what for_strips() gives to each of `parts`.
  void plan_strips(std::int64_t parts) {
    const auto floats = [&](std::int64_t count) {
      return static_cast<std::size_t>(parts * count) * sizeof(float);
    };
    borders_at_ = plan_.add(floats(image_floats_));
    unpooled_at_ = plan_.add(floats(has_pool() ? strip_floats() : 0));
  }

  // Calls body(part, strip, x, unpooled) for each strip of rows of each image: all of them, or the few that
  // one row of the pool takes, for whose outputs there is room at `unpooled`. x is the bordered image from
  // there on.
  template <typename Body>
  void for_strips(std::int64_t parts, const float* images, std::byte* scratch, const Body& body) const {
    auto* borders = reinterpret_cast<float*>(scratch + borders_at_);
    auto* unpooled = reinterpret_cast<float*>(scratch + unpooled_at_);
    const std::int64_t strips = spec_.oh() / shape_.oh;
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        float* bordered = borders + part * image_floats_;
        std::fill_n(bordered, image_floats_, 0.0F);
        for (std::int64_t image = part * spec_.n / parts; image < (part + 1) * spec_.n / parts; ++image) {
          copy_image(images + image * spec_.h * spec_.w * spec_.c, bordered);
          for (std::int64_t strip = 0; strip < strips; ++strip) {
            body(part, image * strips + strip, bordered + strip * shape_.oh * shape_.row_step,
                 unpooled + part * strip_floats());
          }
        }
      }
    });
  }

  bool has_pool() const { return spec_.pool > 1; }
  std::int64_t strip_floats() const { return shape_.oh * shape_.ow * spec_.o; }
  // The pool of a strip, as if that were an image.
  PoolSpec strip_pool() const {
    PoolSpec pool = pool_of(spec_);
    pool.h = shape_.oh;
    return pool;
  }

  ConvSpec spec_;
  std::int64_t width_, image_floats_;
  NarrowShape shape_;
  ScratchPlan plan_;

 private:
  std::size_t borders_at_ = 0, unpooled_at_ = 0;
};

class NarrowConv2d final : public NarrowConv {
 public:
  explicit NarrowConv2d(const ConvSpec& s)
      : NarrowConv(s), parts_(std::min<std::int64_t>(s.n, num_threads())) {
    weights_at_ = plan_.add(static_cast<std::size_t>(shape_.taps * s.o) * sizeof(float));
    plan_strips(parts_);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    auto* w = reinterpret_cast<float*>(scratch + weights_at_);
    for (std::int64_t tap = 0; tap < shape_.taps; ++tap) {
      for (std::int64_t o = 0; o < spec_.o; ++o) w[tap * spec_.o + o] = operand(in, 1)[plain_index(o, tap)];
    }
    const float* bias = spec_.has_bias ? operand(in, 2) : nullptr;
    for_strips(parts_, operand(in, 0), scratch,
               [&](std::int64_t, std::int64_t strip, const float* x, float* unpooled) {
                 float* y = has_pool() ? unpooled : operand(out, 0) + strip * strip_floats();
                 HWY_DYNAMIC_DISPATCH(narrow_forward)
                 (shape_, x, w, bias, spec_.activation == Activation::relu, y);
                 if (has_pool())
                   max_pool_images(strip_pool(), strip, 1, y, operand(out, 0), operand<std::uint8_t>(out, 1));
               });
  }

 private:
  std::int64_t parts_;
  std::size_t weights_at_;
};

// The gradients of fixed parts of the batch are summed apart, then added in order.
class NarrowConv2dDw final : public NarrowConv {
 public:
  explicit NarrowConv2dDw(const ConvSpec& s)
      : NarrowConv(s), parts_(std::min<std::int64_t>(s.n, kMostParts)), sum_floats_((shape_.taps + 1) * s.o) {
    sums_at_ = plan_.add(static_cast<std::size_t>(parts_ * sum_floats_) * sizeof(float));
    plan_strips(parts_);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    auto* sums = reinterpret_cast<float*>(scratch + sums_at_);
    std::fill_n(sums, parts_ * sum_floats_, 0.0F);
    for_strips(parts_, operand(in, 1), scratch,
               [&](std::int64_t part, std::int64_t strip, const float* x, float* unpooled) {
                 if (has_pool()) {
                   max_pool_dx_images(strip_pool(), strip, 1, operand(in, 0),
                                      operand<const std::uint8_t>(in, 2), unpooled);
                 }
                 const float* dy = has_pool() ? unpooled : operand(in, 0) + strip * strip_floats();
                 float* own = sums + part * sum_floats_;
                 HWY_DYNAMIC_DISPATCH(narrow_gradient)(shape_, dy, x, own, own + shape_.taps * spec_.o);
               });
    for (std::int64_t o = 0; o < spec_.o; ++o) {
      for (std::int64_t tap = 0; tap < shape_.taps; ++tap) {
        operand(out, 0)[plain_index(o, tap)] = sum_parts(sums + tap * spec_.o + o);
      }
      if (spec_.has_bias) operand(out, 1)[o] = sum_parts(sums + shape_.taps * spec_.o + o);
    }
  }

 private:
  static constexpr std::int64_t kMostParts = 16;

  float sum_parts(const float* first) const {
    double sum = 0;
    for (std::int64_t part = 0; part < parts_; ++part) sum += static_cast<double>(first[part * sum_floats_]);
    return static_cast<float>(sum);
  }

  std::int64_t parts_, sum_floats_;
  std::size_t sums_at_;
};

}  // namespace

std::unique_ptr<Kernel> make_narrow_conv2d(const ConvSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return std::make_unique<NarrowConv2d>(spec);
}

std::unique_ptr<Kernel> make_narrow_conv2d_dw(const ConvSpec& spec) {
  if (!is_supported(spec)) return nullptr;
  return std::make_unique<NarrowConv2dDw>(spec);
}

}  // namespace hocket::kernel
#endif
