#include "train/checkpoint.h"

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::string_view kParameterPrefix = "param/";

std::string describe(const TensorSpec& tensor) {
  return fmt::format("{} {}", name_of(tensor.dtype), to_string(tensor.shape));
}

}  // namespace

void require_same_parameters(std::span<const TensorSpec> found, std::span<const TensorSpec> expected) {
  std::map<std::string_view, const TensorSpec*> left;
  for (const TensorSpec& tensor : found) {
    const std::string_view name = tensor.name;
    if (name.starts_with(kParameterPrefix)) left[name.substr(kParameterPrefix.size())] = &tensor;
  }
  for (const TensorSpec& parameter : expected) {
    const auto at = left.find(parameter.name);
    if (at == left.end()) {
      throw ConfigError("the checkpoint is of another model: it lacks parameter {} ({})", parameter.name,
                        describe(parameter));
    }
    const TensorSpec& tensor = *at->second;
    if (tensor.dtype != parameter.dtype || !(tensor.shape == parameter.shape)) {
      throw ConfigError("the checkpoint is of another model: parameter {} is {} there and {} here",
                        parameter.name, describe(tensor), describe(parameter));
    }
    left.erase(at);
  }
  if (!left.empty()) {
    throw ConfigError("the checkpoint is of another model: it has parameter {}, which the model lacks",
                      left.begin()->first);
  }
}

}  // namespace hocket
