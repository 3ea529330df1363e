#pragma once

#include "tensor/kernel_specs.h"

namespace hocket {

// sgd or adagrad of a whole w, without decay or scale, by the gradient that csr_matmul_dw would give.
struct CsrUpdateSpec {
  CsrSpec csr;
  UpdateSpec update;  // Count and rows are those of w.
};

}  // namespace hocket
