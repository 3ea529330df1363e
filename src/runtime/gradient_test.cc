// Every operator's gradient against central finite differences in f64, through the real path: shape
// inference, differentiation, lowering, the naive kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/differentiate.h"
#include "runtime/operator_cases.h"

namespace hocket {
namespace {

constexpr double kSlopeTolerance = 1e-6;  // Of the gradient's size, or absolute below 1.
constexpr double kStep = 1e-5;

// The gradient as the graph computes it; of a sparse table as a whole table.
std::vector<double> dense(const Gradient& gradient, const Shape& parameter,
                          const std::vector<Tensor>& values) {
  std::vector<double> result(static_cast<std::size_t>(parameter.count()), 0.0);
  if (!gradient.value) return result;
  const auto rows = values[static_cast<std::size_t>(gradient.value.id())].values<double>();
  if (!gradient.row_ids) return {rows.begin(), rows.end()};
  const auto ids = values[static_cast<std::size_t>(gradient.row_ids.id())].values<std::int32_t>();
  const auto width = static_cast<std::size_t>(parameter.count() / parameter[0]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= parameter[0]) continue;
    for (std::size_t j = 0; j < width; ++j)
      result[static_cast<std::size_t>(ids[i]) * width + j] += rows[i * width + j];
  }
  return result;
}

class FiniteDifferences {
 public:
  FiniteDifferences(const Graph& forward, ValueId loss, const Sources& sources)
      : forward_(forward), loss_(loss), sources_(sources) {}

  double slope(ValueId parameter, std::int64_t element) const {
    double& x = sources_.at(parameter).values<double>()[static_cast<std::size_t>(element)];
    const double centre = x;
    x = centre + kStep;
    const double above = loss();
    x = centre - kStep;
    const double below = loss();
    x = centre;
    return (above - below) / (2 * kStep);
  }

 private:
  double loss() const {
    return evaluate(forward_, sources_, KernelSet::reference)[static_cast<std::size_t>(loss_)]
        .values<double>()[0];
  }

  const Graph& forward_;
  ValueId loss_;
  const Sources& sources_;
};

class GradientOf : public testing::TestWithParam<OperatorCase> {};

TEST_P(GradientOf, MatchesFiniteDifferences) {
  Scene scene(DType::f64, Scene::Size::small);
  const Value loss = scene.loss_of(GetParam().build(scene));
  const std::unique_ptr<Graph> forward = scene.graph().clone();
  const std::vector<ValueId> parameters = scene.graph().values_of(Role::parameter);
  ASSERT_FALSE(parameters.empty());

  const std::vector<Gradient> gradients = differentiate(scene.graph(), loss);
  Sources sources = scene.sources();
  sources[scene.graph().find("dloss").id()] = Tensor::of<double>({}, {1.0});
  const std::vector<Tensor> values = evaluate(scene.graph(), sources, KernelSet::reference);

  const FiniteDifferences differences(*forward, loss.id(), scene.sources());
  double largest = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const ValueInfo& info = forward->value(parameters[p]);
    const std::vector<double> gradient = dense(gradients[p], info.type.shape, values);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double expected = differences.slope(parameters[p], static_cast<std::int64_t>(i));
      largest = std::max(largest, std::fabs(expected));
      ASSERT_NEAR(gradient[i], expected, kSlopeTolerance * std::max(1.0, std::fabs(expected)))
          << info.name << " " << to_string(info.type) << " element " << i;
    }
  }
  EXPECT_GT(largest, 1e-3) << "the case does not depend on its parameters";
}

INSTANTIATE_TEST_SUITE_P(Operators, GradientOf, testing::ValuesIn(differentiable_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Images, GradientOf, testing::ValuesIn(image_cases()), name_of_case);

}  // namespace
}  // namespace hocket
