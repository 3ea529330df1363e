#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/model_description.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "data/open.h"
#include "graph/dot.h"
#include "graph/text.h"
#include "nn/model.h"
#include "train/session.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string defaults_text(const ModelInfo& model) {
  std::string text;
  for (const auto& [key, value] : model.defaults)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

int list_models(const Arguments& arguments) {
  OrderedJson json = OrderedJson::array();
  std::string text;
  for (const ModelInfo& model : built_in_models()) {
    text += fmt::format("{:<9} {}\n{:<9}   sizes: {}\n", model.name, model.summary, "", defaults_text(model));
    json.push_back({{"name", model.name}, {"summary", model.summary}, {"sizes", model.defaults}});
  }
  text += "file:F    a model file, in the text that hocket models NAME --text prints\n";
  write_output(arguments.has("json") ? json.dump(2) + '\n' : text);
  return kDone;
}

// Data of the shape that a model is usually meant for.
std::string usual_data(const Spec& model) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), model.name) != names.end();
  };
  constexpr std::string_view kLargeDepths[] = {"18", "34", "50", "101", "152"};
  const auto large = [&](const auto& option) {
    return option.first == "depth" && std::find(std::begin(kLargeDepths), std::end(kLargeDepths),
                                                option.second) != std::end(kLargeDepths);
  };
  if (is_one_of({"mlp", "lenet"})) return "synthetic:mnist,samples=10";
  if (model.name == "alexnet") return "synthetic:imagenet,samples=10";
  if (model.name == "resnet" && std::any_of(model.options.begin(), model.options.end(), large)) {
    return "synthetic:imagenet,samples=10";
  }
  if (model.name == "gpt") return "synthetic:text";
  if (model.name == "deepfm") return "synthetic:ctr,samples=100";
  if (is_one_of({"linreg", "logreg", "svm"})) return "synthetic:sparse,samples=100";
  return "synthetic:cifar10,samples=10";
}

std::string data_for(const Spec& model, const Arguments& arguments) {
  if (arguments.has("data")) {
    if (arguments.has("input")) throw ConfigError("models: give either --data or --input");
    return arguments.text("data");
  }
  if (!arguments.has("input")) return usual_data(model);
  return fmt::format("synthetic:{}:{},samples=10", arguments.text("input"),
                     arguments.integer("classes", 10, 2, 1 << 24));
}

struct BuiltModel {
  std::string name;
  std::int64_t batch = 0;
  OptimizerSpec optimizer;
  std::unique_ptr<Graph> graph;
};

BuiltModel build(const Arguments& arguments) {
  BuiltModel model{arguments.words().front(), arguments.integer("batch", 128, 1, 1 << 24), {}, nullptr};
  const Spec spec = parse_model(model.name);
  TrainOptions train;
  train.model = model.name;
  if (spec.name.starts_with("file:")) {
    model.graph = build_model(spec, {}, model.batch);
    train.optimizer.rule = "momentum";
  } else {
    const DataParts data = open_dataset({data_for(spec, arguments), ""});
    model.graph = build_model(spec, sample_spec(data.train->info()), model.batch);
    train = with_defaults(train, data.train->info());
  }
  model.optimizer.rule = arguments.text("optimizer", train.optimizer.rule);
  validate(model.optimizer);
  return model;
}

std::string layers_text(const ModelDescription& description) {
  std::size_t name = 5;
  std::size_t op = 8;
  std::size_t output = 6;
  for (const LayerDescription& layer : description.layers) {
    name = std::max(name, layer.name.size());
    op = std::max(op, layer.op.size());
    output = std::max(output, layer.output.size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:<{}}  parameters\n", "layer", name, "operator", op, "output", output);
  for (const LayerDescription& layer : description.layers) {
    const std::string parameters = layer.parameters == 0 ? "-" : count_text(layer.parameters);
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>10}\n", layer.name, name, layer.op, op, layer.output,
                        output, parameters);
  }
  return text;
}

std::string costs_text(const BuiltModel& model, const ModelDescription& description) {
  std::string text;
  const auto line = [&](const std::string& what, const std::string& value) {
    text += fmt::format("{:<24}{:>14}\n", what, value);
  };
  const auto bytes = [](std::size_t count) { return bytes_text(static_cast<double>(count)); };
  text += '\n';
  line("parameters", count_text(description.parameters));
  line("forward, a sample", flops_text(description.forward_flops));
  line("training, a sample", flops_text(description.training_flops));
  text += fmt::format("\nmemory to train with batches of {}:\n", model.batch);
  line("  parameters", bytes(description.parameter_bytes));
  line("  gradients", bytes(description.gradient_bytes));
  line("  state of " + model.optimizer.rule, bytes(description.optimizer_bytes));
  if (description.buffer_bytes > 0) line("  running statistics", bytes(description.buffer_bytes));
  line("  activations", bytes(description.activation_bytes));
  line("  in all", bytes(description.total_bytes()));
  return text;
}

OrderedJson to_json(const BuiltModel& model, const ModelDescription& description) {
  OrderedJson json{{"model", model.name},
                   {"batch", model.batch},
                   {"optimizer", model.optimizer.rule},
                   {"parameters", description.parameters},
                   {"forward_flops", description.forward_flops},
                   {"training_flops", description.training_flops},
                   {"parameter_bytes", description.parameter_bytes},
                   {"gradient_bytes", description.gradient_bytes},
                   {"optimizer_bytes", description.optimizer_bytes},
                   {"buffer_bytes", description.buffer_bytes},
                   {"activation_bytes", description.activation_bytes},
                   {"total_bytes", description.total_bytes()},
                   {"layers", OrderedJson::array()}};
  for (const LayerDescription& layer : description.layers) {
    json["layers"].push_back({{"name", layer.name},
                              {"operator", layer.op},
                              {"output", layer.output},
                              {"parameters", layer.parameters}});
  }
  return json;
}

void require_fit(const BuiltModel& model, const ModelDescription& description, const Arguments& arguments) {
  if (!arguments.has("memory")) return;
  const std::int64_t limit = parse_bytes(arguments.text("memory"), "--memory");
  const auto needed = static_cast<std::int64_t>(description.total_bytes());
  if (needed <= limit) return;
  throw ConfigError(
      "{} does not fit: training with batches of {} needs {} ({} bytes), and --memory allows {}", model.name,
      model.batch, bytes_text(static_cast<double>(needed)), count_text(needed),
      bytes_text(static_cast<double>(limit)));
}

int run_models(const Arguments& arguments) {
  if (arguments.words().empty()) return list_models(arguments);
  const BuiltModel model = build(arguments);
  if (arguments.has("text") || arguments.has("dot")) {
    write_output(arguments.has("text") ? print_text(*model.graph) : print_dot(*model.graph));
    return kDone;
  }
  const ModelDescription description = describe_model(*model.graph, model.optimizer, model.batch);
  require_fit(model, description, arguments);
  write_output(arguments.has("json") ? to_json(model, description).dump(2) + '\n'
                                     : layers_text(description) + costs_text(model, description));
  return kDone;
}

}  // namespace

Command models_command() {
  Command command;
  command.name = "models";
  command.summary = "list models, or describe one: layers, parameters, FLOPs, bytes";
  command.usages = {"", "NAME[,size=N...] [options]"};
  command.options = {
      {"data", "DATA", "the data it is for; decides the shapes of input and output"},
      {"input", "CxHxW", "the shape of its images, in place of --data"},
      {"classes", "N", "with --input: how many classes (10)"},
      {"batch", "N", "samples a step (128)"},
      {"optimizer", "RULE", "whose state counts as memory (the one the model is trained with)"},
      {"memory", "SIZE", "refuse, with exit code 2, a model that needs more to train, as in 512MB or 2GiB"},
      {"text", "", "print the model file that --model file:F reads"},
      {"dot", "", "print the graph for Graphviz"},
      {"json", "", "print the result as JSON"},
      {"help", "", "show this"},
  };
  command.examples = {"hocket models resnet,depth=50 --memory 4GB", "hocket models lenet --text > my.model",
                      "hocket models gpt,layers=12,width=768,heads=12 --batch 8"};
  command.max_words = 1;
  command.run = run_models;
  return command;
}

}  // namespace hocket
