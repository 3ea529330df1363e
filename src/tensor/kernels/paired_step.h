#pragma once

#include <cstdint>

#include "tensor/kernel.h"
#include "tensor/kernels/sgemm.h"

// What paired-inl.h is told, whatever the target.
namespace hocket::kernel {

// Lines of an operand, rows of a or columns of b: those from `first` on, fewer than a panel's only at the
// end, of their terms from `term` on.
struct Lines {
  Matrix all;  // A line is a row of it.
  std::int64_t first, count, term, depth;

  float at(std::int64_t line, std::int64_t of) const {
    const std::int64_t row = first + line, column = term + of;
    return all.data[all.is_transposed ? column * all.stride + row : row * all.stride + column];
  }
};

// Panels of neighbouring lines, for one slice of the terms.
struct Panels {
  const float* data;
  std::int64_t first, count;  // Lines: `first` begins a panel.
};

// Fetches lines of memory for writing, `at_once` a call. Used by one thread.
class LinesAhead {
 public:
  LinesAhead(MemoryRanges ranges, std::int64_t at_once) : ranges_(ranges), at_once_(at_once) {}

  void fetch() {
    for (std::int64_t i = 0; i < at_once_ && !ranges_.empty(); ++i, at_ += kLine) {
      while (at_ >= ranges_.front().size()) {
        ranges_ = ranges_.subspan(1);
        at_ = 0;
        if (ranges_.empty()) return;
      }
      fetch_for_writing(ranges_.front().data() + at_);
    }
  }

 private:
  static constexpr std::size_t kLine = 64;

  // GCC's prefetch for writing is one for reading, unless it may use this instruction everywhere.
  static void fetch_for_writing(const std::byte* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" ::"m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
  }

  MemoryRanges ranges_;
  std::size_t at_ = 0;
  std::int64_t at_once_;
};

// Rows and columns of y from two rows of panels: y = a·b, or y + that, for a slice of the terms.
struct PairedStep {
  Panels a, b;
  std::int64_t depth;
  float* y;  // Its first row and column.
  std::int64_t y_stride;
  bool adds;
  const float* bias;  // Null but at the end of the terms, and so is `has_relu`.
  bool has_relu;
  LinesAhead* ahead;  // Fetched from, a few for each block of y; null where there are none.
};

// Floats of a panel: its terms, what pairs of them leave (paired-inl.h), and by what lines are scaled back.
constexpr std::int64_t panel_floats(std::int64_t depth, std::int64_t lanes) { return (depth + 2) * lanes; }

}  // namespace hocket::kernel
