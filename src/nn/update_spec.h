#pragma once

#include "nn/optimizer.h"
#include "tensor/kernel_specs.h"

namespace hocket {

// The rule and its constants as the kernels take them; count and decay are the caller's to set.
UpdateSpec update_spec_of(const OptimizerSpec& spec);

}  // namespace hocket
