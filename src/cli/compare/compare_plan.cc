#include "cli/compare/compare_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "cli/key_options.h"
#include "cli/version.h"
#include "train/session.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kTestsPerEpoch = 10;
constexpr std::string_view kDefault = "default";

std::string text_of(const decltype(Setting::value)& value) {
  return std::visit([](const auto& each) { return fmt::format("{}", each); }, value);
}

// Keys and values that are not left at their defaults.
std::vector<std::pair<std::string, std::string>> given(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Setting& setting : settings.effective()) {
    if (setting.origin != kDefault) all.emplace_back(setting.key, text_of(setting.value));
  }
  return all;
}

// Keys about workers that belong to no column.
std::vector<std::string> tuned_keys(const Settings& settings) {
  const std::string group = find_key("train.workers")->group;
  std::vector<std::string> keys;
  for (const auto& [name, value] : given(settings)) {
    const bool is_column = std::any_of(way_columns().begin(), way_columns().end(),
                                       [&key = name](const WayColumn& column) { return column.key == key; });
    if (!is_column && find_key(name)->group == group) keys.push_back(name);
  }
  return keys;
}

// At least ten tests in an epoch, or in a run that is shorter.
std::int64_t eval_every(const TrainOptions& options, std::int64_t samples) {
  if (options.eval_every > 0) return options.eval_every;
  const std::int64_t epoch = (samples + options.batch - 1) / options.batch;
  return std::max<std::int64_t>(1, std::min(epoch, options.steps) / kTestsPerEpoch);
}

void require_comparable(const Settings& base) {
  if (base.folds() > 0)
    throw ConfigError("compare: --folds is not for comparisons; --seeds N trains N times");
}

}  // namespace

ComparePlan plan_of(const Arguments& arguments) {
  Arguments scalars = arguments;
  for (const WayColumn& column : way_columns()) scalars.remove(find_key(column.key)->flag());
  ComparePlan plan;
  plan.base = read_settings(scalars);
  require_comparable(plan.base);
  plan.ways = listed_ways(arguments, plan.base);
  plan.seeds = static_cast<int>(arguments.integer("seeds", 1, 1, 1000));
  const double accuracy = plan.base.train_options().target_accuracy;
  if (accuracy > 0) plan.target_error = 1 - accuracy;
  if (arguments.has("target-error")) plan.target_error = arguments.real("target-error", 0, 0, 1e9);
  plan.prices.worker_hour = arguments.real("price-worker-hour", plan.prices.worker_hour, 0, 1e9);
  plan.prices.gigabyte = arguments.real("price-gigabyte", plan.prices.gigabyte, 0, 1e9);
  plan.checks_repeat = arguments.has("check-repeat");
  return plan;
}

std::string to_json(const ComparePlan& plan) {
  OrderedJson json{{"version", kVersion}, {"seeds", plan.seeds}, {"check_repeat", plan.checks_repeat}};
  json["target_error"] = plan.target_error ? OrderedJson(*plan.target_error) : OrderedJson(nullptr);
  json["price_worker_hour"] = plan.prices.worker_hour;
  json["price_gigabyte"] = plan.prices.gigabyte;
  json["settings"] = OrderedJson::object();
  for (const auto& [key, value] : given(plan.base)) json["settings"][key] = value;
  json["ways"] = OrderedJson::array();
  for (const TrainWay& way : plan.ways) {
    OrderedJson& row = json["ways"].emplace_back(OrderedJson::object());
    for (std::size_t i = 0; i < way.values.size(); ++i) row[way_columns()[i].key] = way.values[i];
  }
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

ComparePlan parse_plan(std::string_view text, const std::string& where) {
  try {
    const OrderedJson json = OrderedJson::parse(text);
    ComparePlan plan;
    for (const auto& [name, value] : json.at("settings").items()) {
      plan.base.set(require_key(name, where), value.get<std::string>(), where, where);
    }
    plan.base.require_consistent();
    for (const OrderedJson& row : json.at("ways")) {
      TrainWay way;
      for (const WayColumn& column : way_columns())
        way.values.push_back(row.at(column.key).get<std::string>());
      settings_of(way, plan.base, where);  // Throws where a key refuses its value.
      plan.ways.push_back(std::move(way));
    }
    for (const TrainWay& way : plan.ways) {
      if (std::find(plan.ways.begin(), plan.ways.end(), baseline_of(way)) == plan.ways.end())
        throw DataError("{}: a way without its baseline of one worker", where);
    }
    plan.seeds = std::clamp(json.at("seeds").get<int>(), 1, 1000);
    plan.checks_repeat = json.at("check_repeat").get<bool>();
    if (!json.at("target_error").is_null()) plan.target_error = json.at("target_error").get<double>();
    plan.prices = {json.at("price_worker_hour").get<double>(), json.at("price_gigabyte").get<double>()};
    return plan;
  } catch (const OrderedJson::exception&) {
    throw DataError("{}: not the plan of a comparison", where);
  }
}

std::vector<std::string> assignments_of(const Settings& settings) {
  std::vector<std::string> assignments;
  for (const auto& [key, value] : given(settings)) assignments.push_back(fmt::format("{}={}", key, value));
  return assignments;
}

std::vector<PlannedWay> planned_ways(const ComparePlan& plan) {
  const SessionData data = open_session_data(plan.base.train_options());
  if (data.held_out == nullptr)
    throw ConfigError("compare: {} has no test part; give --test-data or --validation",
                      plan.base.train_options().data);
  std::vector<PlannedWay> ways;
  for (const TrainWay& way : plan.ways) {
    PlannedWay planned{settings_of(way, plan.base, "compare"), 0, 0};
    const TrainOptions options = with_defaults(planned.settings.train_options(), data.train->info());
    planned.steps = options.steps;
    planned.batch = options.batch;
    planned.settings.set(*find_key("train.eval_every"),
                         std::to_string(eval_every(options, data.train->info().size)), "--eval-every",
                         "compare");
    ways.push_back(std::move(planned));
  }
  return ways;
}

Comparison planned_comparison(const ComparePlan& plan, const std::vector<PlannedWay>& ways) {
  const TrainOptions base = plan.base.train_options();
  Comparison comparison;
  comparison.model = base.model;
  comparison.data = base.data;
  comparison.version = kVersion;
  comparison.cores = std::max(1U, std::thread::hardware_concurrency());
  comparison.threads = base.threads;
  comparison.target_error = plan.target_error;
  comparison.prices = plan.prices;
  for (std::size_t i = 0; i < plan.ways.size(); ++i) {
    const TrainWay& way = plan.ways[i];
    const auto baseline = std::find(plan.ways.begin(), plan.ways.end(), baseline_of(way));
    ComparedWay row;
    row.label = label_of(way, plan.ways);
    row.group = group_of(way, plan.ways);
    for (std::size_t column = 0; column < way.values.size(); ++column) {
      row.settings.emplace_back(way_columns()[column].key, way.values[column]);
    }
    row.workers = workers_of(way);
    row.batch = ways[i].batch;
    row.knobs = knobs_of(way);
    row.tuned = tuned_keys(plan.base);
    row.assumption = assumption_of(way);
    row.baseline = static_cast<std::size_t>(baseline - plan.ways.begin());
    const std::string folder = folder_name(row.label);
    for (int seed = 0; seed < plan.seeds; ++seed) {
      const std::uint64_t number = base.seed + static_cast<std::uint64_t>(seed);
      row.trials.push_back({.seed = number, .folder = fmt::format("{}/seed-{}", folder, number)});
    }
    if (plan.checks_repeat) {
      row.trials.push_back({.seed = base.seed,
                            .folder = fmt::format("{}/seed-{}-again", folder, base.seed),
                            .is_repeat = true});
    }
    comparison.ways.push_back(std::move(row));
  }
  return comparison;
}

}  // namespace hocket
