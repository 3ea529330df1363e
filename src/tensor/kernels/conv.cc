#include <optional>
#include <string_view>

#include "tensor/kernels/dnnl.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/narrow_conv.h"
#include "tensor/kernels/pooling.h"
#include "tensor/kernels/winograd_conv.h"
#include "tensor/pooled_conv.h"

// Convolutions by oneDNN. Images stay in the layout of the graph, channels last being within a tenth of
// oneDNN's own blocked layouts; weights are small, lie plain in their arena, and are packed in scratch memory
// at every run.
namespace hocket::kernel {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// How one convolution is described to oneDNN with images in the layout `tag`. Filters may have any layout.
struct Description {
  MemoryDesc x, w, bias, y;
  dnnl::memory::dims strides, padding;

  // The dtype of x, w and y as one of them is computed: `inputs` for the others, f32 for the result.
  Description(const ConvSpec& s, FormatTag tag, DType x_dtype, DType w_dtype, DType y_dtype)
      : x({s.n, s.c, s.h, s.w}, dnnl_dtype(x_dtype), tag),
        w(filter_dims(s), dnnl_dtype(w_dtype), FormatTag::any),
        bias({s.o}, dnnl_dtype(DType::f32), FormatTag::a),
        y({s.n, s.o, s.oh(), s.ow()}, dnnl_dtype(y_dtype), tag),
        strides{s.stride, s.stride},
        padding{s.padding, s.padding} {}

  static dnnl::memory::dims filter_dims(const ConvSpec& s) {
    if (s.groups == 1) return {s.o, s.c, s.kh, s.kw};
    return {s.groups, s.o / s.groups, s.c / s.groups, s.kh, s.kw};
  }

  convolution_forward::primitive_desc forward(const ConvSpec& s) const {
    using Request = convolution_forward::desc;
    const auto kind = dnnl::prop_kind::forward_training;
    const Request request = s.has_bias ? Request(kind, kDirect, x, w, bias, y, strides, padding, padding)
                                       : Request(kind, kDirect, x, w, y, strides, padding, padding);
    return {request, dnnl_attributes(s.activation == Activation::relu), dnnl_engine()};
  }

  // What the backward primitives want to see: a forward one of the same shape.
  convolution_forward::primitive_desc hint() const {
    return {{dnnl::prop_kind::forward_training, kDirect, x, w, y, strides, padding, padding}, dnnl_engine()};
  }
};

FormatTag image_tag(const ConvSpec& s) {
  return s.layout == Layout::channels_last ? FormatTag::nhwc : FormatTag::nchw;
}

MemoryDesc plain_filter(const ConvSpec& s, DType dtype) {
  return {Description::filter_dims(s), dnnl_dtype(dtype), s.groups == 1 ? FormatTag::oihw : FormatTag::goihw};
}

// The primitive that `describe(tag)` asks for, with images channels last or else plain, whichever oneDNN has
// code for; nothing where it only has its own slow reference.
template <typename Describe>
auto find_primitive(const Describe& describe) -> std::optional<decltype(describe(FormatTag::nhwc))> {
  for (const FormatTag tag : {FormatTag::nhwc, FormatTag::nchw}) {
    try {
      auto desc = describe(tag);
      if (!std::string_view(desc.impl_info_str()).starts_with("ref")) return desc;
    } catch (const dnnl::error&) {  // No code for this layout.
    }
  }
  return std::nullopt;
}

// Memory that all three share: packed operands and oneDNN's own scratch.
class ConvKernel : public Kernel {
 public:
  std::size_t scratch_bytes() const final { return plan_.size(); }

 protected:
  void add_scratchpad(const MemoryDesc& desc) { pad_ = plan_.add(desc.get_size()); }

  ScratchPlan plan_;
  std::size_t pad_ = 0;
};

class Conv2d final : public ConvKernel {
 public:
  Conv2d(const ConvSpec& s, const convolution_forward::primitive_desc& desc) : has_bias_(s.has_bias) {
    const Description user(s, image_tag(s), s.input_dtype, s.input_dtype, s.dtype);
    pack_x_ = DnnlReorder(user.x, desc.src_desc(), plan_);
    pack_w_ = DnnlReorder(plain_filter(s, s.input_dtype), desc.weights_desc(), plan_);
    unpack_y_ = DnnlReorder(desc.dst_desc(), user.y, plan_);
    add_scratchpad(desc.scratchpad_desc());
    std::vector<DnnlPrimitive::Operand> operands = {{DNNL_ARG_SRC, desc.src_desc()},
                                                    {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                                    {DNNL_ARG_DST, desc.dst_desc()},
                                                    {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
    if (has_bias_) operands.push_back({DNNL_ARG_BIAS, user.bias});
    convolve_ = DnnlPrimitive(convolution_forward(desc), operands);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const void* x = pack_x_.pack(in[0], scratch);
    const void* w = pack_w_.pack(in[1], scratch);
    void* y = unpack_y_.packed(out[0], scratch);
    if (has_bias_) {
      convolve_.run({x, w, y, scratch + pad_, in[2]});
    } else {
      convolve_.run({x, w, y, scratch + pad_});
    }
    unpack_y_.unpack(out[0], scratch);
  }

 private:
  bool has_bias_;
  DnnlReorder pack_x_, pack_w_, unpack_y_;
  DnnlPrimitive convolve_;
};

class Conv2dDx final : public ConvKernel {
 public:
  Conv2dDx(const ConvSpec& s, const convolution_backward_data::primitive_desc& desc) {
    const Description user(s, image_tag(s), s.dtype, s.input_dtype, s.input_dtype);
    pack_dy_ = DnnlReorder(user.y, desc.diff_dst_desc(), plan_);
    pack_w_ = DnnlReorder(plain_filter(s, s.input_dtype), desc.weights_desc(), plan_);
    unpack_dx_ = DnnlReorder(desc.diff_src_desc(), user.x, plan_);
    add_scratchpad(desc.scratchpad_desc());
    convolve_ =
        DnnlPrimitive(convolution_backward_data(desc), {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc()},
                                                        {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                                        {DNNL_ARG_DIFF_SRC, desc.diff_src_desc()},
                                                        {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}});
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const void* dy = pack_dy_.pack(in[0], scratch);
    const void* w = pack_w_.pack(in[1], scratch);
    convolve_.run({dy, w, unpack_dx_.packed(out[0], scratch), scratch + pad_});
    unpack_dx_.unpack(out[0], scratch);
  }

 private:
  DnnlReorder pack_dy_, pack_w_, unpack_dx_;
  DnnlPrimitive convolve_;
};

class Conv2dDw final : public ConvKernel {
 public:
  Conv2dDw(const ConvSpec& s, const convolution_backward_weights::primitive_desc& desc)
      : has_bias_(s.has_bias) {
    const Description user(s, image_tag(s), s.input_dtype, s.dtype, s.input_dtype);
    pack_dy_ = DnnlReorder(user.y, desc.diff_dst_desc(), plan_);
    pack_x_ = DnnlReorder(user.x, desc.src_desc(), plan_);
    unpack_dw_ = DnnlReorder(desc.diff_weights_desc(), plain_filter(s, s.dtype), plan_);
    add_scratchpad(desc.scratchpad_desc());
    std::vector<DnnlPrimitive::Operand> operands = {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc()},
                                                    {DNNL_ARG_SRC, desc.src_desc()},
                                                    {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc()},
                                                    {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
    if (has_bias_) operands.push_back({DNNL_ARG_DIFF_BIAS, user.bias});
    convolve_ = DnnlPrimitive(convolution_backward_weights(desc), operands);
  }

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    const void* dy = pack_dy_.pack(in[0], scratch);
    const void* x = pack_x_.pack(in[1], scratch);
    void* dw = unpack_dw_.packed(out[0], scratch);
    if (has_bias_) {
      convolve_.run({dy, x, dw, scratch + pad_, out[1]});
    } else {
      convolve_.run({dy, x, dw, scratch + pad_});
    }
    unpack_dw_.unpack(out[0], scratch);
  }

 private:
  bool has_bias_;
  DnnlReorder pack_dy_, pack_x_, unpack_dw_;
  DnnlPrimitive convolve_;
};

bool is_supported(const ConvSpec& s) {
  return s.dtype == DType::f32 && (s.input_dtype == DType::f32 || s.input_dtype == DType::bf16) &&
         s.n * s.c * s.h * s.w * s.o * s.kh * s.kw > 0;
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const ConvSpec& s) {
  if (auto narrow = make_narrow_conv2d(s)) return narrow;
  if (auto winograd = make_winograd_conv2d(s)) return winograd;
  if (!is_supported(s)) return nullptr;
  if (s.pool > 1) return chain_conv_and_pool(s, make_conv2d(without_pool(s)), make_max_pool(pool_of(s)));
  const auto desc = find_primitive(
      [&](FormatTag tag) { return Description(s, tag, s.input_dtype, s.input_dtype, s.dtype).forward(s); });
  return desc ? std::make_unique<Conv2d>(s, *desc) : nullptr;
}

std::unique_ptr<Kernel> make_conv2d_dx(const ConvSpec& s) {
  if (auto winograd = make_winograd_conv2d_dx(s)) return winograd;
  if (!is_supported(s)) return nullptr;
  if (s.pool > 1)
    return chain_pool_and_gradient(s, make_max_pool_dx(pool_of(s)), make_conv2d_dx(without_pool(s)));
  const auto desc = find_primitive([&](FormatTag tag) {
    const Description d(s, tag, s.dtype, s.input_dtype, s.input_dtype);
    const Description forward(s, tag, s.input_dtype, s.input_dtype, s.dtype);
    return convolution_backward_data::primitive_desc(
        {kDirect, d.x, d.w, d.y, d.strides, d.padding, d.padding}, dnnl_attributes(), dnnl_engine(),
        forward.hint());
  });
  return desc ? std::make_unique<Conv2dDx>(s, *desc) : nullptr;
}

std::unique_ptr<Kernel> make_conv2d_dw(const ConvSpec& s) {
  if (auto narrow = make_narrow_conv2d_dw(s)) return narrow;
  if (auto winograd = make_winograd_conv2d_dw(s)) return winograd;
  if (!is_supported(s)) return nullptr;
  if (s.pool > 1)
    return chain_pool_and_gradient(s, make_max_pool_dx(pool_of(s)), make_conv2d_dw(without_pool(s)));
  const auto desc = find_primitive([&](FormatTag tag) {
    const Description d(s, tag, s.input_dtype, s.dtype, s.input_dtype);
    const Description forward(s, tag, s.input_dtype, s.input_dtype, s.dtype);
    using Request = convolution_backward_weights::desc;
    const Request request = s.has_bias
                                ? Request(kDirect, d.x, d.w, d.bias, d.y, d.strides, d.padding, d.padding)
                                : Request(kDirect, d.x, d.w, d.y, d.strides, d.padding, d.padding);
    return convolution_backward_weights::primitive_desc(request, dnnl_attributes(), dnnl_engine(),
                                                        forward.hint());
  });
  return desc ? std::make_unique<Conv2dDw>(s, *desc) : nullptr;
}

}  // namespace hocket::kernel
