#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/session.h"

namespace hocket {

// The norm of each parameter's gradient, by name, also where the parameters are those of several stages. All
// ranks call it.
std::vector<std::pair<std::string, double>> gradient_norms(Session& session, Team& team);

// liblinear's objective ½|w|² + C·Σ loss over `data`, of a linear model that was given its C. All ranks call
// it.
std::optional<double> linear_objective(const TrainOptions& options, const Dataset& data, Session& session,
                                       Team& team);

}  // namespace hocket
