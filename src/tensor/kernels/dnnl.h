#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <initializer_list>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/kernels/scratch_plan.h"

// oneDNN inside tensor/: its engine, and primitives that are prepared once and bound to buffers at every run.
namespace hocket::kernel {

using MemoryDesc = dnnl::memory::desc;
using FormatTag = dnnl::memory::format_tag;

// The engine and stream of the processor. The first call caps the ISA; each makes this thread use
// num_threads().
const dnnl::engine& dnnl_engine();
const dnnl::stream& dnnl_stream();

dnnl::memory::data_type dnnl_dtype(DType dtype);

// Attributes of every primitive here: scratch memory comes from the caller.
dnnl::primitive_attr dnnl_attributes(bool relu = false);

// A primitive with its memory objects. Used by one thread at a time: run() points the objects at the buffers.
class DnnlPrimitive {
 public:
  struct Operand {
    int argument = 0;  // DNNL_ARG_…
    MemoryDesc desc;
  };

  DnnlPrimitive() = default;
  DnnlPrimitive(const dnnl::primitive& primitive, const std::vector<Operand>& operands);

  // One buffer an operand, in their order.
  void run(std::initializer_list<const void*> buffers) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// A tensor that a primitive wants (or leaves) in a layout of its own: a packed copy in scratch memory and the
// reorder between the two. Where the layouts are equal there is no copy, and packed() is the tensor itself.
class DnnlReorder {
 public:
  DnnlReorder() = default;
  // Takes room for the packed copy from `plan`: `to` when it is pack()ed, `from` when it is unpack()ed.
  DnnlReorder(const MemoryDesc& from, const MemoryDesc& to, ScratchPlan& plan);

  void* packed(const void* plain, std::byte* scratch) const;
  const void* pack(const void* plain, std::byte* scratch) const;
  void unpack(void* plain, std::byte* scratch) const;

 private:
  bool is_copy_ = false;
  std::size_t packed_at_ = 0;
  std::size_t pad_at_ = 0;
  DnnlPrimitive primitive_;
};

}  // namespace hocket::kernel
