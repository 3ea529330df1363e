#include "tensor/kernels/winograd_conv.h"

#include <algorithm>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/pooling.h"
#include "tensor/kernels/scratch_plan.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"
#include "tensor/kernels/winograd_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/winograd_conv.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/winograd-inl.h"

// A block of tiles goes through all its stages while it is in the cache. Where outputs are pooled, that goes
// for images: a few of them are made, or their gradients are, in scratch memory, and are never whole in
// memory.
#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(transform_filters);
HWY_EXPORT(sum_filters);
HWY_EXPORT(transform_inputs);
HWY_EXPORT(transform_outputs);
HWY_EXPORT(transform_gradients);
HWY_EXPORT(multiply_tiles);
HWY_EXPORT(add_products);

constexpr std::int64_t kChannels = 16;  // Of all images a multiple: whole vectors.
constexpr std::int64_t kFewTiles = 96;  // For fewer, transforming the filters takes longer than it saves.

WinogradShape shape_of(const ConvSpec& s) { return {s.n, s.h, s.w, s.c, s.o, s.padding}; }

bool is_supported(const ConvSpec& s) {
  return s.dtype == DType::f32 && s.input_dtype == DType::f32 && s.groups == 1 && s.kh == 3 && s.kw == 3 &&
         s.stride == 1 && s.padding <= 2 && s.layout == Layout::channels_last && s.c % kChannels == 0 &&
         s.o % kChannels == 0 && s.c * s.o > 0 && s.oh() >= kTile && s.ow() >= kTile &&
         shape_of(s).tiles() >= kFewTiles;
}

// Tiles [begin, end) of the images from `first` on, and room for a block of them.
struct TileGroup {
  std::int64_t part = 0;
  std::int64_t first = 0, images = 0;
  std::int64_t begin = 0, end = 0;
  float *inputs = nullptr, *products = nullptr;
  float* unpooled = nullptr;  // Room for the images before they are pooled, where there is a pool.
};

class WinogradConv : public Kernel {
 public:
  std::size_t scratch_bytes() const final { return plan_.size(); }

 protected:
  // `s`: of what this kernel computes, which for the gradient of x is not the shape of `conv` itself.
  WinogradConv(const WinogradShape& s, const ConvSpec& conv)
      : shape_(s),
        pool_(pool_of(conv)),
        has_pool_(conv.pool > 1),
        parts_(num_threads()),
        group_images_(std::min(s.n, std::max<std::int64_t>(kBlock / s.image_tiles(), 1))) {
    inputs_at_ = add(parts_ * kPositions * plane(s.c));
    products_at_ = add(parts_ * kPositions * plane(s.o));
    taps_at_ = add(2 * kTaps * pairs());
    unpooled_at_ = has_pool_ ? add(parts_ * unpooled_floats()) : 0;
  }

  std::size_t add(std::int64_t floats) { return plan_.add(static_cast<std::size_t>(floats) * sizeof(float)); }
  static float* floats_at(std::byte* scratch, std::size_t offset) {
    return reinterpret_cast<float*>(scratch + offset);
  }
  std::int64_t pairs() const { return shape_.c * shape_.o; }

  // Calls body(group) for all tiles: one group a part, or of a few images each, which the pool takes whole.
  template <typename Body>
  void for_groups(std::byte* scratch, const Body& body) const {
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        TileGroup group{.part = part, .images = shape_.n};
        group.inputs = floats_at(scratch, inputs_at_) + part * kPositions * plane(shape_.c);
        group.products = floats_at(scratch, products_at_) + part * kPositions * plane(shape_.o);
        if (has_pool_) {
          group.unpooled = floats_at(scratch, unpooled_at_) + part * unpooled_floats();
          for_image_groups(group, body);
        } else {
          const std::int64_t blocks = (shape_.tiles() + kBlock - 1) / kBlock;
          group.begin = part * blocks / parts_ * kBlock;
          group.end = std::min((part + 1) * blocks / parts_ * kBlock, shape_.tiles());
          body(group);
        }
      }
    });
  }

  // Calls body(first, count) for each block of tiles of a group.
  template <typename Body>
  static void for_blocks(const TileGroup& group, const Body& body) {
    for (std::int64_t first = group.begin; first < group.end; first += kBlock)
      body(first, std::min(kBlock, group.end - first));
  }

  // What the block of tiles behind the one from `first` on reads or writes of a tensor, more or less.
  std::span<const float> next_block(const TileGroup& group, std::int64_t first, const float* images,
                                    std::int64_t image_floats) const {
    const std::int64_t tiles = shape_.tiles(), floats = shape_.n * image_floats;
    const std::int64_t next = group.first * shape_.image_tiles() + first + kBlock;
    const std::int64_t begin = floats * std::min(tiles, next) / tiles;
    const std::int64_t end = floats * std::min(tiles, next + kBlock) / tiles;
    return {images + begin, static_cast<std::size_t>(end - begin)};
  }
  std::int64_t pooled_floats() const { return pool_.c * pool_.oh() * pool_.ow(); }

  // The gradient of a group's images from that of the pooled ones, operand 0, and from where these were
  // found.
  const float* unpool(const TileGroup& group, Buffers in) const {
    max_pool_dx_images(pool_, group.first, group.images, operand(in, 0), operand<const std::uint8_t>(in, 2),
                       group.unpooled);
    return group.unpooled;
  }

  WinogradShape shape_;
  PoolSpec pool_;
  bool has_pool_;
  std::int64_t parts_;
  ScratchPlan plan_;
  std::size_t inputs_at_, products_at_, taps_at_;

 private:
  template <typename Body>
  void for_image_groups(TileGroup group, const Body& body) const {
    const std::int64_t groups = (shape_.n + group_images_ - 1) / group_images_;
    for (std::int64_t i = group.part * groups / parts_; i < (group.part + 1) * groups / parts_; ++i) {
      group.first = i * group_images_;
      group.images = std::min(group_images_, shape_.n - group.first);
      group.end = group.images * shape_.image_tiles();
      body(group);
    }
  }

  std::int64_t unpooled_floats() const { return group_images_ * pool_.c * pool_.h * pool_.w; }

  std::int64_t group_images_;
  std::size_t unpooled_at_;
};

class WinogradConv2d final : public WinogradConv {
 public:
  // `is_gradient`: of a convolution whose outputs are the inputs of this one.
  WinogradConv2d(const WinogradShape& shape, const ConvSpec& s, bool is_gradient)
      : WinogradConv(shape, s),
        is_gradient_(is_gradient),
        has_bias_(s.has_bias && !is_gradient),
        has_relu_(s.activation == Activation::relu && !is_gradient),
        filters_at_(add(kPositions * pairs())) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const float* u = filters(operand(in, 1), scratch);
    const float* bias = has_bias_ ? operand(in, 2) : nullptr;
    const bool pools_inputs = has_pool_ && is_gradient_, pools_outputs = has_pool_ && !is_gradient_;
    for_groups(scratch, [&](const TileGroup& group) {
      const float* x =
          pools_inputs ? unpool(group, in) : operand(in, 0) + group.first * shape_.image_inputs();
      float* y = pools_outputs ? group.unpooled : operand(out, 0) + group.first * shape_.image_outputs();
      for_blocks(group, [&](std::int64_t first, std::int64_t count) {
        const FloatRanges ahead{
            next_block(group, first, operand(in, 0), pools_inputs ? pooled_floats() : shape_.image_inputs()),
            next_block(group, first, operand(out, 0),
                       pools_outputs ? pooled_floats() : shape_.image_outputs())};
        HWY_DYNAMIC_DISPATCH(transform_inputs)(shape_, x, first, count, group.inputs);
        HWY_DYNAMIC_DISPATCH(multiply_tiles)(shape_, count, group.inputs, u, group.products, ahead);
        HWY_DYNAMIC_DISPATCH(transform_outputs)(shape_, group.products, first, count, bias, has_relu_, y);
      });
      if (pools_outputs)
        max_pool_images(pool_, group.first, group.images, y, operand(out, 0), operand<std::uint8_t>(out, 1));
    });
  }

 private:
  // Filters lie plain, (output, input, tap).
  const float* filters(const float* w, std::byte* scratch) const {
    float* u = floats_at(scratch, filters_at_);
    float* by_tap = floats_at(scratch, taps_at_);
    float* taps = by_tap + kTaps * pairs();
    transpose_floats(w, kTaps, pairs(), kTaps, by_tap, pairs());
    for (std::int64_t tap = 0; tap < kTaps; ++tap) {
      const float* from = by_tap + tap * pairs();
      if (is_gradient_) {
        std::copy_n(from, pairs(), taps + (kTaps - 1 - tap) * pairs());
      } else {
        transpose_floats(from, shape_.c, shape_.o, shape_.c, taps + tap * pairs(), shape_.o);
      }
    }
    HWY_DYNAMIC_DISPATCH(transform_filters)(taps, pairs(), u);
    return u;
  }

  bool is_gradient_, has_bias_, has_relu_;
  std::size_t filters_at_;
};

// Each part has sums of its own, which are added in order.
class WinogradConv2dDw final : public WinogradConv {
 public:
  WinogradConv2dDw(const WinogradShape& shape, const ConvSpec& s)
      : WinogradConv(shape, s), has_bias_(s.has_bias), sum_floats_(kPositions * pairs() + shape.o) {
    sums_at_ = add(parts_ * sum_floats_);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    float* sums = floats_at(scratch, sums_at_);
    std::fill_n(sums, parts_ * sum_floats_, 0.0F);
    for_groups(scratch, [&](const TileGroup& group) {
      float* own = sums + group.part * sum_floats_;
      const float* x = operand(in, 1) + group.first * shape_.image_inputs();
      const float* dy = has_pool_ ? unpool(group, in) : operand(in, 0) + group.first * shape_.image_outputs();
      for_blocks(group, [&](std::int64_t first, std::int64_t count) {
        const FloatRanges ahead{
            next_block(group, first, operand(in, 1), shape_.image_inputs()),
            next_block(group, first, operand(in, 0), has_pool_ ? pooled_floats() : shape_.image_outputs())};
        HWY_DYNAMIC_DISPATCH(transform_inputs)(shape_, x, first, count, group.inputs);
        HWY_DYNAMIC_DISPATCH(transform_gradients)
        (shape_, dy, first, count, group.products, own + kPositions * pairs());
        HWY_DYNAMIC_DISPATCH(add_products)(shape_, count, group.inputs, group.products, own, ahead);
      });
    });
    for (std::int64_t part = 1; part < parts_; ++part) {
      for (std::int64_t i = 0; i < sum_floats_; ++i) sums[i] += sums[part * sum_floats_ + i];
    }
    put_filters(sums, scratch, operand(out, 0));
    if (has_bias_) std::copy_n(sums + kPositions * pairs(), shape_.o, operand(out, 1));
  }

 private:
  void put_filters(const float* u, std::byte* scratch, float* dw) const {
    float* taps = floats_at(scratch, taps_at_);
    float* by_tap = taps + kTaps * pairs();
    HWY_DYNAMIC_DISPATCH(sum_filters)(u, pairs(), taps);
    for (std::int64_t tap = 0; tap < kTaps; ++tap)
      transpose_floats(taps + tap * pairs(), shape_.o, shape_.c, shape_.o, by_tap + tap * pairs(), shape_.c);
    transpose_floats(by_tap, pairs(), kTaps, pairs(), dw, kTaps);
  }

  bool has_bias_;
  std::int64_t sum_floats_;
  std::size_t sums_at_;
};

}  // namespace

std::unique_ptr<Kernel> make_winograd_conv2d(const ConvSpec& s) {
  if (!is_supported(s)) return nullptr;
  return std::make_unique<WinogradConv2d>(shape_of(s), s, false);
}

std::unique_ptr<Kernel> make_winograd_conv2d_dx(const ConvSpec& s) {
  if (!is_supported(s)) return nullptr;
  return std::make_unique<WinogradConv2d>(WinogradShape{s.n, s.oh(), s.ow(), s.o, s.c, 2 - s.padding}, s,
                                          true);
}

std::unique_ptr<Kernel> make_winograd_conv2d_dw(const ConvSpec& s) {
  if (!is_supported(s)) return nullptr;
  return std::make_unique<WinogradConv2dDw>(shape_of(s), s);
}

}  // namespace hocket::kernel
#endif
