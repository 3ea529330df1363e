#include "nn/model.h"

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "graph/operator.h"
#include "graph/text.h"
#include "nn/models/models.h"

namespace hocket {
namespace {

struct Model {
  ModelInfo info;
  void (*build)(Builder& b, const SpecOptions& options, const SampleSpec& sample);
};

const std::vector<Model>& models() {
  static const std::vector<Model> kModels{
      {{"mlp", "fully connected layers with relu", {{"hidden", "512x512"}, {"dropout", "0"}}}, build_mlp},
      {{"lenet", "two convolutions, two fully connected layers", {{"channels", "32x64"}, {"hidden", "128"}}},
       build_lenet},
      {{"alexnet", "five convolutions, three fully connected layers", {{"dropout", "0.5"}}}, build_alexnet},
      {{"resnet",
        "residual network: depth 20, 32, 44, 56, 110 (CIFAR) or 18, 34, 50, 101, 152 (ImageNet)",
        {{"depth", "20"}}},
       build_resnet},
      {{"gpt",
        "transformer over bytes; encoder=1 attends both ways and predicts the byte after the window",
        {{"layers", "4"},
         {"width", "256"},
         {"heads", "4"},
         {"tied", "0"},
         {"dropout", "0"},
         {"encoder", "0"}}},
       build_gpt},
      {{"linreg", "linear regression (least squares)", {{"bias", "1"}}}, build_linreg},
      {{"logreg",
        "logistic regression; c=C sets the L2 penalty as liblinear does",
        {{"bias", "1"}, {"c", "0"}}},
       build_logreg},
      {{"svm", "linear support vector machine (hinge loss)", {{"bias", "1"}, {"c", "0"}}}, build_svm},
      {{"deepfm",
        "factorisation machine and fully connected layers over categorical columns",
        {{"width", "8"}, {"hidden", "64x32"}, {"sparse", "1"}}},
       build_deepfm},
  };
  return kModels;
}

const Model& find_model(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Model& model : models()) {
    if (model.info.name == name) return model;
    names.push_back(model.info.name);
  }
  throw ConfigError("unknown model {}{}", name, did_you_mean(name, names));
}

std::unique_ptr<Graph> read_model_file(const std::string& path, std::int64_t batch) {
  std::ifstream file(path);
  if (!file) throw ConfigError("model file {}: cannot be opened", path);
  std::ostringstream text;
  text << file.rdbuf();
  std::unique_ptr<Graph> graph = parse_text(text.str(), path, batch);
  const Value loss = graph->output("loss");
  if (!loss) throw ConfigError("model file {}: no output called loss", path);
  if (loss.shape().rank() != 0)
    throw ConfigError("model file {}: the loss is {}, expected a scalar", path, to_string(loss.type()));
  return graph;
}

}  // namespace

const SampleField* SampleSpec::find(std::string_view name) const {
  for (const SampleField& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

Spec parse_model(std::string_view text) {
  if (text.starts_with("file:")) return {std::string(text), {}};
  Spec spec = Spec::parse("model", text);
  if (spec.name.size() > 6 && spec.name.starts_with("resnet")) {  // resnet20 is short for resnet,depth=20.
    spec.options.emplace_back("depth", spec.name.substr(6));
    spec.name = "resnet";
  }
  return spec;
}

std::vector<ModelInfo> built_in_models() {
  std::vector<ModelInfo> infos;
  for (const Model& model : models()) infos.push_back(model.info);
  return infos;
}

std::unique_ptr<Graph> build_model(const Spec& spec, const SampleSpec& sample, std::int64_t batch,
                                   DType real) {
  if (spec.name.starts_with("file:")) return read_model_file(spec.name.substr(5), batch);
  const Model& model = find_model(spec.name);
  auto graph = std::make_unique<Graph>();
  Builder builder(*graph, batch, real);
  model.build(builder, SpecOptions("model", spec, model.info.defaults), sample);
  return graph;
}

ModelSize size_of_model(const Graph& graph) {
  ModelSize size;
  for (const ValueId id : graph.values_of(Role::parameter))
    size.parameters += graph.value(id).type.shape.count();
  for (const Node& node : graph.nodes()) {
    std::vector<Type> inputs;
    std::vector<Type> outputs;
    for (const ValueId id : node.inputs) inputs.push_back(graph.value(id).type);
    for (const ValueId id : node.outputs) outputs.push_back(graph.value(id).type);
    if (node.phase == Phase::forward) size.forward_flops += node.op->flops(node, inputs, outputs);
  }
  return size;
}

}  // namespace hocket
