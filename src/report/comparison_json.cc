#include "report/comparison_json.h"

#include <nlohmann/json.hpp>

#include "report/scaling.h"
#include "report/winners.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

template <typename Value>
OrderedJson or_null(const std::optional<Value>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson json_of(const std::optional<MedianEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"median", or_null(estimate->median)},
          {"low", or_null(estimate->low)},
          {"high", or_null(estimate->high)}};
}

OrderedJson json_of(const std::optional<MeanEstimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"mean", estimate->mean}, {"deviation", estimate->deviation}};
}

OrderedJson efficiency_json(const WayScore& score) {
  return {{"reached", score.reached},          {"runs", score.runs},
          {"seconds", json_of(score.seconds)}, {"epochs", json_of(score.epochs)},
          {"bytes", json_of(score.bytes)},     {"worker_seconds", json_of(score.worker_seconds)}};
}

OrderedJson stability_json(const WayScore& score) {
  return {{"final_error", json_of(score.final_error)},
          {"worst_error", or_null(score.worst_error)},
          {"diverged", score.diverged},
          {"failed", score.failed},
          {"bit_reproducible", or_null(score.repeats_bitwise)}};
}

OrderedJson cost_json(const Comparison& comparison, const WayScore& score) {
  OrderedJson json{{"to_target", or_null(score.cost_to_target)}, {"whole_run", or_null(score.cost)}};
  json["per_added_worker"] = nullptr;
  if (score.marginal) {
    json["per_added_worker"] = {{"than", comparison.ways[score.marginal->than].label},
                                {"added_workers", score.marginal->added_workers},
                                {"seconds_saved", or_null(score.marginal->seconds_saved)},
                                {"cost_added", or_null(score.marginal->cost_added)}};
  }
  return json;
}

OrderedJson curve_json(const std::vector<CurvePoint>& curve) {
  OrderedJson json = OrderedJson::array();
  for (const CurvePoint& point : curve) {
    json.push_back({{"step", point.median.step},
                    {"epoch", point.median.epoch},
                    {"seconds", point.median.seconds},
                    {"bytes", point.median.bytes},
                    {"error", point.median.error},
                    {"low", point.low},
                    {"high", point.high}});
  }
  return json;
}

OrderedJson trial_json(const TrainTrial& trial) {
  OrderedJson json{{"seed", trial.seed}, {"run", trial.folder}, {"status", name_of(trial.status)}};
  json["repeat"] = trial.is_repeat;
  json["reason"] = trial.reason.empty() ? OrderedJson(nullptr) : OrderedJson(trial.reason);
  json["wall_seconds"] = trial.wall_seconds;
  json["train_seconds"] = trial.train_seconds;
  json["cpu_seconds"] = trial.cpu_seconds;
  json["compute_seconds"] = trial.compute_seconds;
  json["comm_seconds"] = trial.comm_seconds;
  json["exposed_comm_seconds"] = trial.exposed_comm_seconds;
  json["wait_seconds"] = trial.wait_seconds;
  json["samples_per_second"] = trial.samples_per_second;
  json["bytes_sent"] = trial.bytes_sent;
  json["peak_rss_bytes"] = trial.peak_rss_bytes;
  json["steps"] = trial.steps;
  json["staleness"] = trial.staleness;
  json["emulated"] = trial.is_emulated;
  json["parameter_hash"] = trial.parameter_hash;
  json["tests"] = OrderedJson::array();
  for (const TestPoint& test : trial.tests) {
    json["tests"].push_back({test.step, test.epoch, test.seconds, test.bytes, test.error});
  }
  return json;
}

OrderedJson winners_json(const Comparison& comparison, const Scores& scores) {
  OrderedJson json = OrderedJson::array();
  for (const Winner& winner : winners(comparison, scores)) {
    json.push_back({{"criterion", winner.criterion},
                    {"way", comparison.ways[winner.way].label},
                    {"by", winner.figure},
                    {"emulated", scores.ways[winner.way].is_emulated}});
  }
  return json;
}

OrderedJson points_json(const std::vector<ScalingPoint>& points) {
  OrderedJson json = OrderedJson::array();
  for (const ScalingPoint& point : points) {
    json.push_back(
        {{"workers", point.workers}, {"speed_up", point.speed_up}, {"communication", point.communication}});
  }
  return json;
}

OrderedJson scaling_json(const Comparison& comparison, const Scores& scores) {
  const std::optional<ModelledScaling> scaling = model_scaling(comparison, scores);
  if (!scaling) return nullptr;
  return {{"from", comparison.ways[scaling->from].label},
          {"assumption", scaling->assumption},
          {"ring", points_json(scaling->ring)},
          {"master", points_json(scaling->master)}};
}

OrderedJson way_json(const Comparison& comparison, const ComparedWay& way, const WayScore& score) {
  OrderedJson json{{"way", way.label}, {"group", way.group}, {"workers", way.workers}, {"batch", way.batch}};
  json["settings"] = OrderedJson::object();
  for (const auto& [key, value] : way.settings) json["settings"][key] = value;
  json["baseline"] = comparison.ways[way.baseline].label;
  json["assumption"] = way.assumption;
  json["efficiency"] = efficiency_json(score);
  json["complexity"] = {{"knobs", way.knobs},
                        {"count", way.knobs.size()},
                        {"tuned", way.tuned},
                        {"defaults_sufficed", score.defaults_sufficed}};
  json["stability"] = stability_json(score);
  json["cost"] = cost_json(comparison, score);
  json["speed_up"] = or_null(score.speedup);
  json["throughput_speed_up"] = or_null(score.throughput_speedup);
  json["best_error"] = or_null(score.best_error);
  json["gap"] = or_null(score.gap);
  json["optimum_gap"] = or_null(score.optimum_gap);
  json["samples_per_second"] = score.samples_per_second;
  json["wall_seconds"] = score.wall_seconds;
  json["train_seconds"] = score.train_seconds;
  json["cpu_seconds"] = score.cpu_seconds;
  json["shares"] = {{"compute", score.shares.compute},
                    {"communication", score.shares.communication},
                    {"wait", score.shares.wait},
                    {"other", score.shares.other}};
  json["bytes_sent"] = score.bytes_sent;
  json["exposed_comm_fraction"] = score.exposed_comm_fraction;
  json["peak_rss_bytes"] = score.peak_rss_bytes;
  json["staleness"] = {{"mean", score.staleness}, {"shares", score.staleness_shares}};
  json["conflict_rate"] = or_null(score.conflict_rate);
  json["emulated"] = score.is_emulated;
  json["curve"] = curve_json(score.curve);
  json["runs"] = OrderedJson::array();
  for (const TrainTrial& trial : way.trials) json["runs"].push_back(trial_json(trial));
  return json;
}

}  // namespace

std::string to_json(const Comparison& comparison, const Scores& scores) {
  OrderedJson json{{"model", comparison.model}, {"data", comparison.data}};
  json["complete"] = comparison.is_complete();
  json["measure"] = comparison.measure();
  json["target_error"] = or_null(scores.target_error);
  json["target_chosen"] = !comparison.target_error.has_value();
  json["prices"] = {{"worker_hour", comparison.prices.worker_hour}, {"gigabyte", comparison.prices.gigabyte}};
  json["cores"] = comparison.cores;
  json["threads"] = comparison.threads;
  json["notices"] = comparison.notices();
  json["version"] = comparison.version;
  json["emulated"] = comparison.is_emulated();
  json["optimum"] = or_null(comparison.optimum);
  json["winners"] = winners_json(comparison, scores);
  json["modelled_scaling"] = scaling_json(comparison, scores);
  json["ways"] = OrderedJson::array();
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    json["ways"].push_back(way_json(comparison, comparison.ways[i], scores.ways[i]));
  }
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

}  // namespace hocket
