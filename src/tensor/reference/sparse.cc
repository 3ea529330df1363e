#include "tensor/reference/sparse.h"

#include <algorithm>
#include <limits>

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

// The smallest id above `last` among the first `count`, or the largest int when there is none.
std::int32_t next_id(const std::int32_t* ids, std::int64_t count, std::int64_t last) {
  std::int32_t next = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t i = 0; i < count; ++i) {
    if (ids[i] > last) next = std::min(next, ids[i]);
  }
  return next;
}

// Writes the unique ids below `bound` among the first `count` in ascending order, then -1 up to `capacity`,
// and calls `fill(row, id)` for the row of each, `fill(row, -1)` for padding.
template <typename Fill>
void for_each_unique_id(const std::int32_t* ids, std::int64_t count, std::int64_t bound,
                        std::int64_t capacity, std::int32_t* row_ids, Fill fill) {
  std::int64_t last = -1;
  for (std::int64_t row = 0; row < capacity; ++row) {
    const std::int32_t id = next_id(ids, count, last);
    row_ids[row] = id < bound ? id : -1;
    last = id;
    fill(row, row_ids[row]);
  }
}

// Element (feature, j) of the gradient: over the entries of that feature, value · dy of their row.
template <typename T>
double csr_dw_at(const CsrSpec& spec, Buffers in, std::int64_t feature, std::int64_t j) {
  const T* dy = operand<T>(in, 0);
  const T* values = operand<T>(in, 1);
  const std::int32_t* columns = operand<std::int32_t>(in, 2);
  const std::int32_t* offsets = operand<std::int32_t>(in, 3);
  double sum = 0;
  for (std::int64_t i = 0; i < spec.n; ++i) {
    for (std::int64_t z = offsets[i]; z < offsets[i + 1]; ++z) {
      if (columns[z] == feature) sum += static_cast<double>(values[z]) * dy[i * spec.k + j];
    }
  }
  return sum;
}

// Row `id` of the table's gradient, element j.
template <typename T>
double embedding_grad_at(const EmbeddingSpec& spec, Buffers in, std::int64_t id, std::int64_t j) {
  double sum = 0;
  for (std::int64_t i = 0; i < spec.count; ++i) {
    if (operand<std::int32_t>(in, 1)[i] == id) sum += operand<T>(in, 0)[i * spec.width + j];
  }
  return sum;
}

}  // namespace

std::unique_ptr<Kernel> make_csr_matmul(const CsrSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const std::int32_t* columns = operand<std::int32_t>(in, 1);
    const std::int32_t* offsets = operand<std::int32_t>(in, 2);
    for (std::int64_t i = 0; i < spec.n; ++i) {
      for (std::int64_t j = 0; j < spec.k; ++j) {
        double sum = 0;
        for (std::int64_t z = offsets[i]; z < offsets[i + 1]; ++z) {
          const std::int64_t row = columns[z] - spec.first;
          if (row < 0 || row >= spec.features) continue;
          sum += static_cast<double>(operand<T>(in, 0)[z]) * operand<T>(in, 3)[row * spec.k + j];
        }
        operand<T>(out, 0)[i * spec.k + j] = static_cast<T>(sum);
      }
    }
  });
}

std::unique_ptr<Kernel> make_csr_matmul_dw(const CsrSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.features * spec.k; ++i) {
      operand<T>(out, 0)[i] = static_cast<T>(csr_dw_at<T>(spec, in, spec.first + i / spec.k, i % spec.k));
    }
  });
}

std::unique_ptr<Kernel> make_csr_matmul_dw_rows(const CsrSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const std::int64_t entries = operand<std::int32_t>(in, 3)[spec.n];
    const auto fill = [&](std::int64_t row, std::int32_t id) {
      for (std::int64_t j = 0; j < spec.k; ++j) {
        operand<T>(out, 0)[row * spec.k + j] = id < 0 ? T{0} : static_cast<T>(csr_dw_at<T>(spec, in, id, j));
      }
    };
    for_each_unique_id(operand<std::int32_t>(in, 2), entries, std::numeric_limits<std::int32_t>::max(),
                       spec.capacity, operand<std::int32_t>(out, 1), fill);
  });
}

std::unique_ptr<Kernel> make_embedding(const EmbeddingSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.count; ++i) {
      const std::int64_t row = operand<std::int32_t>(in, 1)[i] - spec.first;
      T* y = operand<T>(out, 0) + i * spec.width;
      if (row >= 0 && row < spec.vocabulary) {
        std::copy_n(operand<T>(in, 0) + row * spec.width, spec.width, y);
      } else {
        std::fill_n(y, spec.width, T{0});
      }
    }
  });
}

std::unique_ptr<Kernel> make_embedding_grad(const EmbeddingSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    for (std::int64_t i = 0; i < spec.vocabulary * spec.width; ++i) {
      const std::int64_t id = spec.first + i / spec.width;
      operand<T>(out, 0)[i] = static_cast<T>(embedding_grad_at<T>(spec, in, id, i % spec.width));
    }
  });
}

std::unique_ptr<Kernel> make_embedding_grad_rows(const EmbeddingSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const auto fill = [&](std::int64_t row, std::int32_t id) {
      for (std::int64_t j = 0; j < spec.width; ++j) {
        operand<T>(out, 0)[row * spec.width + j] =
            id < 0 ? T{0} : static_cast<T>(embedding_grad_at<T>(spec, in, id, j));
      }
    };
    for_each_unique_id(operand<std::int32_t>(in, 1), spec.count, spec.vocabulary, spec.count,
                       operand<std::int32_t>(out, 1), fill);
  });
}

}  // namespace hocket::reference
