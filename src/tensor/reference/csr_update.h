#pragma once

#include <memory>

#include "tensor/csr_update_spec.h"
#include "tensor/kernel.h"

namespace hocket::reference {

// Operands: w, dy, values, columns, offsets, hyper, state…, all in `in`.
std::unique_ptr<Kernel> make_csr_update(const CsrUpdateSpec& spec);

}  // namespace hocket::reference
