#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Batch norm as statistics and application, and layer norm. See matrix.h.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_bn_stats(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_apply(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_apply_grad(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_apply_dx(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_stats_dx(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_dx(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_running(const BatchNormSpec& spec);
std::unique_ptr<Kernel> make_bn_inference(const BatchNormSpec& spec);

std::unique_ptr<Kernel> make_layer_norm(const RowsSpec& spec);
std::unique_ptr<Kernel> make_layer_norm_grad(const RowsSpec& spec);

}  // namespace hocket::kernel
