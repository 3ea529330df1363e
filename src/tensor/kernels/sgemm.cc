#include "tensor/kernels/sgemm.h"

#include <dnnl.h>

#include "base/error.h"

namespace hocket::kernel {

void sgemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix a, Matrix b, float* y,
           std::int64_t y_stride, bool adds) {
  const dnnl_status_t status =
      dnnl_sgemm(a.is_transposed ? 'T' : 'N', b.is_transposed ? 'T' : 'N', m, n, k, 1.0F, a.data, a.stride,
                 b.data, b.stride, adds ? 1.0F : 0.0F, y, y_stride);
  HOCKET_CHECK(status == dnnl_success, "sgemm status {}", static_cast<int>(status));
}

}  // namespace hocket::kernel
