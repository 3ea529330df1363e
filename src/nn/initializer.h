#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "tensor/tensor.h"

namespace hocket {

// How a parameter or buffer starts, kept in the attributes of its source: init=zeros, init=ones,
// init=normal std=S, or init=uniform bound=B.
Attributes zeros();
Attributes ones();
Attributes normal(double std);
Attributes uniform(double bound);
Attributes he_normal(std::int64_t fan_in);  // normal with std √(2/fan_in): keeps the variance through relu.
Attributes fan_in_uniform(std::int64_t fan_in);  // uniform with bound 1/√fan_in.

// `init` with tp=dim: a tensor-parallel axis cuts the parameter along `dim`, where its ranks divide that.
Attributes cut_along(std::int64_t dim, Attributes init);

// Fills `out` (f32 or f64) with the initial values of `source`: a function of (seed, name, index) alone, so
// that every rank and every way of sharding starts alike. Throws ConfigError for an unknown initializer.
void initialize(const ValueInfo& source, std::uint64_t seed, const Tensor& out);

}  // namespace hocket
