#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hocket {

using Buffers = std::span<std::byte* const>;
using MemoryRanges = std::span<const std::span<std::byte>>;

// A computation prepared once for fixed shapes, dtypes and layouts, and run many times on buffers of the
// caller.
//
// `in` and `out` hold one 64-byte aligned buffer per operand, in the order that the factory documents;
// `scratch` has scratch_bytes(). An element-wise kernel may write over its operand. run() allocates nothing
// of ours. A kernel is used by one thread at a time; inside, it uses up to `num_threads()` OpenMP threads
// (kernels/threads.h).
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(Buffers in, Buffers out, std::byte* scratch) const = 0;
  virtual std::size_t scratch_bytes() const { return 0; }

  // The same. A kernel that computes longer than it waits for memory may fetch `lines` on the way, which
  // another processor has and this one will write.
  virtual void run_and_fetch(Buffers in, Buffers out, std::byte* scratch, MemoryRanges /*lines*/) const {
    run(in, out, scratch);
  }

  // A kernel that reads, updates or makes the gradient of one weight may run in parts: on the weight's
  // elements from `begin` to `end`, multiples of part_unit() (0: as a whole only) or the last end, one part
  // after the other, with the same buffers and nothing else in `scratch` between them. Every bit is as run()
  // makes it, when its part has run; what belongs to later parts is not read before.
  virtual std::int64_t part_unit() const { return 0; }
  virtual void run_part(std::int64_t /*begin*/, std::int64_t /*end*/, Buffers in, Buffers out,
                        std::byte* scratch) const {
    run(in, out, scratch);
  }
};

// A kernel that is one function object of (in, out): for computations that need no scratch memory.
template <typename Function>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Function function) : function_(std::move(function)) {}
  void run(Buffers in, Buffers out, std::byte*) const override { function_(in, out); }

 private:
  Function function_;
};

template <typename Function>
std::unique_ptr<Kernel> make_kernel(Function function) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function));
}

}  // namespace hocket
