#include "tensor/kernels/dnnl.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/kernels/isa.h"
#include "tensor/kernels/threads.h"

namespace hocket::kernel {
namespace {

struct Processor {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

const Processor& processor() {
  cap_dnnl_isa();
  adopt_num_threads();
  static const Processor instance;
  return instance;
}

}  // namespace

const dnnl::engine& dnnl_engine() { return processor().engine; }
const dnnl::stream& dnnl_stream() { return processor().stream; }

dnnl::memory::data_type dnnl_dtype(DType dtype) {
  HOCKET_CHECK(dtype == DType::f32 || dtype == DType::bf16, "oneDNN kernels take f32 and bf16");
  return dtype == DType::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

dnnl::primitive_attr dnnl_attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(ops);
  }
  return attributes;
}

DnnlPrimitive::DnnlPrimitive(const dnnl::primitive& primitive, const std::vector<Operand>& operands)
    : primitive_(primitive) {
  for (const Operand& operand : operands) {
    memories_.push_back(dnnl::memory(operand.desc, dnnl_engine(), DNNL_MEMORY_NONE));
    arguments_.push_back({operand.argument, memories_.back().get()});
  }
}

void DnnlPrimitive::run(std::initializer_list<const void*> buffers) const {
  HOCKET_CHECK(buffers.size() == memories_.size());
  auto memory = memories_.begin();
  for (const void* buffer : buffers) (memory++)->set_data_handle(const_cast<void*>(buffer));
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), dnnl_stream().get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  HOCKET_CHECK(status == dnnl_success, "oneDNN status {}", static_cast<int>(status));
}

DnnlReorder::DnnlReorder(const MemoryDesc& from, const MemoryDesc& to, ScratchPlan& plan)
    : is_copy_(from != to) {
  if (!is_copy_) return;
  packed_at_ = plan.add(std::max(from.get_size(), to.get_size()));
  const dnnl::reorder::primitive_desc desc(dnnl_engine(), from, dnnl_engine(), to, dnnl_attributes());
  pad_at_ = plan.add(desc.scratchpad_desc().get_size());
  primitive_ = DnnlPrimitive(
      dnnl::reorder(desc),
      {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}});
}

void* DnnlReorder::packed(const void* plain, std::byte* scratch) const {
  return is_copy_ ? scratch + packed_at_ : const_cast<void*>(plain);
}

const void* DnnlReorder::pack(const void* plain, std::byte* scratch) const {
  if (is_copy_) primitive_.run({plain, scratch + packed_at_, scratch + pad_at_});
  return packed(plain, scratch);
}

void DnnlReorder::unpack(void* plain, std::byte* scratch) const {
  if (is_copy_) primitive_.run({scratch + packed_at_, plain, scratch + pad_at_});
}

}  // namespace hocket::kernel
