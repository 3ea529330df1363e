#include "cli/plan/plan_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantity.h"
#include "cli/units.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

double most_memory(const PipelinePrediction& prediction) {
  return *std::max_element(prediction.memory_bytes.begin(), prediction.memory_bytes.end());
}

double samples_per_second(const PipelinePrediction& prediction) {
  return static_cast<double>(prediction.request.batch) / prediction.step().count();
}

// The share of a layer's time that is not the samples' own: what larger micro-batches would save.
double share_of_calls(const MeasuredModel& model, const PipelinePrediction& prediction) {
  Seconds calls{0};
  Seconds all{0};
  for (const LayerProfile& layer : model.profile.layers) {
    calls += layer.forward.call + layer.backward.call;
    all += layer.forward.of(prediction.request.samples()) + layer.backward.of(prediction.request.samples());
  }
  return all > Seconds(0) ? calls / all : 0;
}

std::string layer_range(const PlanResult& result, const PredictedPart& part) {
  const auto& first = result.layers[static_cast<std::size_t>(part.first_layer)].name;
  const auto& last = result.layers[static_cast<std::size_t>(part.end_layer - 1)].name;
  const int count = part.end_layer - part.first_layer;
  return count == 1 ? first : fmt::format("{} … {} ({})", first, last, count);
}

std::string ways_text(const PlanResult& result) {
  std::string text = fmt::format("  {:<14}{:>15}{:>12}{:>12}{:>10}{:>12}\n", "mesh", "micro-batches", "step",
                                 "samples/s", "bubble", "memory");
  for (std::size_t i = 0; i < result.ways.size(); ++i) {
    const PipelinePrediction& way = result.ways[i].chosen();
    text += fmt::format("{} {:<14}{:>15}{:>12}{:>12.0f}{:>10}{:>12}\n", i == result.best ? '*' : ' ',
                        result.ways[i].mesh(), way.request.micro_batches, seconds_text(way.step().count()),
                        samples_per_second(way), percent_text(way.bubble()), bytes_text(most_memory(way)));
  }
  for (const std::string& mesh : result.misfits) text += fmt::format("  {:<14} does not fit\n", mesh);
  return text;
}

std::string stages_text(const PlanResult& result) {
  const PipelinePrediction& way = result.chosen().chosen();
  std::string text = fmt::format("\n{:<7}{:<9}{:>11}{:>11}{:>11}{:>12}  {}\n", "part", "ranks", "forward",
                                 "backward", "update", "memory", "layers");
  for (std::size_t i = 0; i < way.parts.size(); ++i) {
    const PredictedPart& part = way.parts[i];
    const auto stage = i % static_cast<std::size_t>(way.request.stages);
    const auto first = static_cast<int>(stage) * way.request.replicas;
    const std::string ranks = way.request.replicas == 1
                                  ? std::to_string(first)
                                  : fmt::format("{}-{}", first, first + way.request.replicas - 1);
    text += fmt::format("{:<7}{:<9}{:>11}{:>11}{:>11}{:>12}  {}\n", i, ranks,
                        seconds_text(part.cost.forward.count()), seconds_text(part.cost.backward.count()),
                        seconds_text(part.cost.update.count()), bytes_text(way.memory_bytes[stage]),
                        layer_range(result, part));
  }
  return text;
}

std::string micro_batches_text(const MeasuredModel& model, const PlanResult& result) {
  const PlanWay& way = result.chosen();
  if (way.predictions.size() == 1) return "";
  std::string text = fmt::format("\n  {:<15}{:>9}{:>12}{:>10}{:>16}{:>12}\n", "micro-batches", "samples",
                                 "step", "bubble", "lost to calls", "memory");
  for (std::size_t i = 0; i < way.predictions.size(); ++i) {
    const PipelinePrediction& one = way.predictions[i];
    text += fmt::format("{} {:<15}{:>9}{:>12}{:>10}{:>16}{:>12}\n", i == way.best ? '*' : ' ',
                        one.request.micro_batches, one.request.samples(), seconds_text(one.step().count()),
                        percent_text(one.bubble()), percent_text(share_of_calls(model, one)),
                        bytes_text(most_memory(one)));
  }
  return text;
}

std::string pipedream_text(const PlanResult& result) {
  if (!result.pipedream) return "";
  std::vector<std::string> stages;
  for (const PlannedStage& stage : result.pipedream->stages) {
    stages.push_back(fmt::format("{} on {}", layer_range(result, {stage.first_layer, stage.end_layer}),
                                 stage.replicas == 1 ? "one rank" : fmt::format("{} ranks", stage.replicas)));
  }
  return fmt::format(
      "\nPipeDream's partition, with as many replicas of each stage as it likes: {}; a batch each {}\n",
      fmt::join(stages, ", then "), seconds_text(result.pipedream->bottleneck.count()));
}

std::string command_text(const PlanTitle& title, const PlanResult& result) {
  const PipelineRequest& request = result.chosen().chosen().request;
  std::string text =
      fmt::format("\nhocket train --model {} --data {} --batch {}", title.model, title.data, request.batch);
  if (request.stages * request.replicas > 1) text += " --mesh " + result.chosen().mesh();
  if (request.stages == 1) return text + '\n';
  text += fmt::format(" --microbatches {} --schedule {}", request.micro_batches, name_of(request.schedule));
  if (request.chunks > 1) text += fmt::format(",chunks={}", request.chunks);
  return text + fmt::format(" --stages '{}'\n", result.stages);
}

OrderedJson to_json(const PipelinePrediction& prediction) {
  const PipelineRequest& request = prediction.request;
  return {{"stages", request.stages},
          {"replicas", request.replicas},
          {"chunks", request.chunks},
          {"micro_batches", request.micro_batches},
          {"samples", request.samples()},
          {"step_seconds", prediction.step().count()},
          {"samples_per_second", samples_per_second(prediction)},
          {"bubble", prediction.bubble()},
          {"memory_bytes", prediction.memory_bytes}};
}

OrderedJson parts_json(const PlanResult& result) {
  OrderedJson json = OrderedJson::array();
  for (const PredictedPart& part : result.chosen().chosen().parts) {
    OrderedJson names = OrderedJson::array();
    for (int i = part.first_layer; i < part.end_layer; ++i) {
      names.push_back(result.layers[static_cast<std::size_t>(i)].name);
    }
    json.push_back({{"layers", names},
                    {"forward_seconds", part.cost.forward.count()},
                    {"backward_seconds", part.cost.backward.count()},
                    {"update_seconds", part.cost.update.count()},
                    {"send_seconds", part.cost.send_down.count()},
                    {"parameter_bytes", part.parameter_bytes}});
  }
  return json;
}

OrderedJson layers_json(const ModelProfile& profile) {
  OrderedJson json = OrderedJson::array();
  for (const LayerProfile& layer : profile.layers) {
    json.push_back({{"name", layer.name},
                    {"forward_call_seconds", layer.forward.call.count()},
                    {"forward_sample_seconds", layer.forward.sample.count()},
                    {"backward_call_seconds", layer.backward.call.count()},
                    {"backward_sample_seconds", layer.backward.sample.count()},
                    {"update_seconds", layer.update.count()},
                    {"parameter_bytes", layer.parameter_bytes},
                    {"output_bytes", layer.output_bytes},
                    {"kept_bytes", layer.kept_bytes}});
  }
  return json;
}

}  // namespace

std::string plan_as_text(const PlanTitle& title, const MeasuredModel& model, const PlanDemand& demand,
                         const PlanResult& result) {
  std::string text = fmt::format(
      "{} on {}, batches of {}: {} layers, measured here with {} samples at once on {} thread{}\n",
      title.model, title.data, demand.batch, result.layers.size(), fmt::join(model.batches, ", "),
      model.threads, model.threads == 1 ? "" : "s");
  text += fmt::format("{} ranks, topology {}, schedule {}; all times are predicted\n\n",
                      demand.cluster.topology.world(), title.cluster, name_of(demand.schedule));
  return text + ways_text(result) + stages_text(result) + micro_batches_text(model, result) +
         pipedream_text(result) + command_text(title, result);
}

std::string plan_as_json(const PlanTitle& title, const MeasuredModel& model, const PlanDemand& demand,
                         const PlanResult& result) {
  OrderedJson json{{"model", title.model},      {"data", title.data},
                   {"batch", demand.batch},     {"ranks", demand.cluster.topology.world()},
                   {"topology", title.cluster}, {"schedule", name_of(demand.schedule)},
                   {"threads", model.threads},  {"mesh", result.chosen().mesh()},
                   {"stages", result.stages}};
  json["best"] = to_json(result.chosen().chosen());
  json["parts"] = parts_json(result);
  for (const PlanWay& way : result.ways) json["ways"].push_back(to_json(way.chosen()));
  for (const PipelinePrediction& one : result.chosen().predictions) {
    json["micro_batches"].push_back(to_json(one));
  }
  if (result.pipedream) {
    json["pipedream"]["bottleneck_seconds"] = result.pipedream->bottleneck.count();
    for (const PlannedStage& stage : result.pipedream->stages) {
      json["pipedream"]["stages"].push_back(
          {{"first_layer", stage.first_layer}, {"end_layer", stage.end_layer}, {"replicas", stage.replicas}});
    }
  }
  json["layers"] = layers_json(model.profile);
  return json.dump(2) + '\n';
}

}  // namespace hocket
