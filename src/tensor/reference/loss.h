#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Softmax, losses and metrics. See matrix.h.
namespace hocket::reference {

std::unique_ptr<Kernel> make_softmax(const RowsSpec& spec);
std::unique_ptr<Kernel> make_softmax_grad(const RowsSpec& spec);
std::unique_ptr<Kernel> make_log_softmax(const RowsSpec& spec);
std::unique_ptr<Kernel> make_log_softmax_grad(const RowsSpec& spec);
std::unique_ptr<Kernel> make_argmax(const RowsSpec& spec);

std::unique_ptr<Kernel> make_softmax_cross_entropy(const LossSpec& spec);
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad(const LossSpec& spec);
std::unique_ptr<Kernel> make_exp_sum(const RowsSpec& spec);
std::unique_ptr<Kernel> make_pick(const LossSpec& spec);
std::unique_ptr<Kernel> make_split_cross_entropy(const LossSpec& spec);  // `width` is the number of classes.
std::unique_ptr<Kernel> make_sigmoid_cross_entropy(const LossSpec& spec);
std::unique_ptr<Kernel> make_sigmoid_cross_entropy_grad(const LossSpec& spec);
std::unique_ptr<Kernel> make_hinge(const LossSpec& spec);
std::unique_ptr<Kernel> make_hinge_grad(const LossSpec& spec);
std::unique_ptr<Kernel> make_squared_error(const LossSpec& spec);
std::unique_ptr<Kernel> make_squared_error_grad(const LossSpec& spec);
std::unique_ptr<Kernel> make_count_correct(const LossSpec& spec);

}  // namespace hocket::reference
