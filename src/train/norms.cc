#include "train/norms.h"

#include <cmath>

#include "train/evaluate.h"

namespace hocket {
namespace {

double norm(const Tensor& tensor) {
  double sum = 0;
  if (tensor.dtype() == DType::f64) {
    for (const double x : tensor.values<double>()) sum += x * x;
  } else {
    for (const float x : tensor.values<float>()) sum += static_cast<double>(x) * x;
  }
  return std::sqrt(sum);
}

}  // namespace

std::vector<std::pair<std::string, double>> gradient_norms(Session& session, Team& team) {
  std::vector<std::pair<std::string, double>> norms;
  const std::vector<ArenaLayout::Entry>& own = session.program().layouts().parameters.entries();
  if (team.share("pp").count == 1) {
    for (const ArenaLayout::Entry& entry : own)
      norms.emplace_back(entry.name, norm(view_of(session.memory().gradients, entry)));
    return norms;
  }
  for (const ValueId id : session.model().values_of(Role::parameter)) {
    const std::string& name = session.model().value(id).name;
    double value = 0;
    for (const ArenaLayout::Entry& entry : own) {
      if (entry.name == name) value = norm(view_of(session.memory().gradients, entry));
    }
    team.sum_along("pp", std::span(&value, 1));
    norms.emplace_back(name, value);
  }
  return norms;
}

std::optional<double> linear_objective(const TrainOptions& options, const Dataset& data, Session& session,
                                       Team& team) {
  const bool has_c = options.model.find(",c=") != std::string::npos && options.optimizer.weight_decay > 0;
  if (!has_c) return std::nullopt;
  const auto samples = static_cast<double>(data.info().size);
  const double c = 1 / (options.optimizer.weight_decay * samples);
  double squares = 0;
  for (const ArenaLayout::Entry& entry : session.program().layouts().parameters.entries()) {
    if (entry.type.shape.rank() >= 2)
      squares += std::pow(norm(view_of(session.memory().parameters, entry)), 2);
  }
  team.sum_along("pp", std::span(&squares, 1));
  return 0.5 * squares + c * samples * Evaluator(session, data, team).run().loss;
}

}  // namespace hocket
