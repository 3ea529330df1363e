#include <algorithm>

#include "base/error.h"
#include "base/spec.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/plan/plan_text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "net/world.h"
#include "tensor/kernels/threads.h"
#include "train/session.h"

namespace hocket {
namespace {

constexpr int kMostRanks = 64;
constexpr const char* kHere = "this";

// "pp=2,dp=4".
PipelineRequest mesh_of(const std::string& text) {
  PipelineRequest request;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    const std::optional<std::int64_t> size =
        parse_integer(item.substr(std::min<std::size_t>(3, item.size())));
    const bool is_pp = item.starts_with("pp=");
    if (!(is_pp || item.starts_with("dp=")) || !size || *size < 1 || *size > kMostRanks) {
      throw ConfigError("--mesh: expected pp=K, dp=N or both, such as pp=2,dp=2, found '{}'", item);
    }
    (is_pp ? request.stages : request.replicas) = static_cast<int>(*size);
    at = end + 1;
  }
  return request;
}

// RANK=VALUE, separated by commas.
void for_each_rank(const std::string& text, std::string_view flag, std::vector<RankLimits>& ranks,
                   const std::function<void(RankLimits&, const std::string&)>& set) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, end - at);
    const std::size_t equals = item.find('=');
    const std::optional<std::int64_t> rank = parse_integer(item.substr(0, equals));
    if (equals == std::string::npos || !rank || *rank < 0 || *rank >= static_cast<int>(ranks.size())) {
      throw ConfigError("--{}: expected RANK=VALUE with a rank from 0 to {}, found '{}'", flag,
                        ranks.size() - 1, item);
    }
    set(ranks[static_cast<std::size_t>(*rank)], item.substr(equals + 1));
    at = end + 1;
  }
}

std::vector<RankLimits> limits_of(const Arguments& arguments, int ranks, double speed) {
  std::vector<RankLimits> limits(static_cast<std::size_t>(ranks), RankLimits{speed});
  for_each_rank(arguments.text("speed"), "speed", limits, [&](RankLimits& rank, const std::string& value) {
    const std::optional<double> factor = parse_real(value);
    if (!factor || *factor <= 0) throw ConfigError("--speed: expected a factor above 0, found '{}'", value);
    rank.speed *= *factor;
  });
  const std::string memory = arguments.text("memory");
  const auto set = [](RankLimits& rank, const std::string& value) {
    rank.memory_bytes = static_cast<double>(parse_bytes(value, "--memory"));
  };
  if (!memory.empty() && memory.find('=') == std::string::npos) {
    for (RankLimits& rank : limits) set(rank, memory);
  } else {
    for_each_rank(memory, "memory", limits, set);
  }
  return limits;
}

// On this machine the ranks share its cores; elsewhere each has as many as there are here.
int threads_of(const Arguments& arguments, bool is_here, int ranks) {
  const int share = is_here ? std::max(1, usable_cores() / ranks) : usable_cores();
  return static_cast<int>(arguments.integer("threads", share, 1, 1024));
}

PlanDemand demand_of(const Arguments& arguments) {
  std::optional<PipelineRequest> mesh;
  int ranks = static_cast<int>(arguments.integer("ranks", 2, 1, kMostRanks));
  if (arguments.has("mesh")) {
    mesh = mesh_of(arguments.text("mesh"));
    const int size = mesh->stages * mesh->replicas;
    if (arguments.has("ranks") && ranks != size) {
      throw ConfigError("--mesh {} has {} ranks, but --ranks says {}", arguments.text("mesh"), size, ranks);
    }
    ranks = size;
    if (ranks > kMostRanks) throw ConfigError("--mesh: {} ranks are more than {}", ranks, kMostRanks);
  }
  const std::string cluster = arguments.text("cluster", kHere);
  const double speed = cluster == kHere ? std::min(1.0, static_cast<double>(usable_cores()) / ranks) : 1.0;
  PlanDemand demand{{open_topology(cluster, ranks), limits_of(arguments, ranks, speed)}};
  demand.mesh = mesh;
  const Spec schedule = Spec::parse("schedule", arguments.text("schedule", "1f1b"));
  demand.schedule = parse_pipeline_schedule(schedule.name);
  const bool is_interleaved = demand.schedule == PipelineSchedule::interleaved;
  const SpecOptions::Defaults defaults =
      is_interleaved ? SpecOptions::Defaults{{"chunks", "2"}} : SpecOptions::Defaults{};
  const SpecOptions options("schedule", schedule, defaults);
  if (is_interleaved) demand.chunks = static_cast<int>(options.integer("chunks"));
  return demand;
}

int run_plan(const Arguments& arguments) {
  PlanDemand demand = demand_of(arguments);
  const PlanTitle title{arguments.text("model", "lenet"), arguments.text("data", "fashion-mnist"),
                        arguments.text("cluster", kHere)};
  TrainOptions options;
  options.model = title.model;
  options.data = title.data;
  options.batch = arguments.integer("batch", 0, 1, 1 << 24);
  options.optimizer.rule = arguments.text("optimizer");
  const SessionData data = open_session_data(options);
  options = with_defaults(options, data.train->info());
  demand.batch = options.batch;
  kernel::set_num_threads(threads_of(arguments, title.cluster == kHere, demand.cluster.topology.world()));
  const MeasuredModel model = measure_model(options, *data.train, demand.batch);
  const PlanResult result = search_plans(model, demand);
  write_output(arguments.has("json") ? plan_as_json(title, model, demand, result)
                                     : plan_as_text(title, model, demand, result));
  return kDone;
}

}  // namespace

Command plan_command() {
  Command command;
  command.name = "plan";
  command.summary = "measure a model's layers here, and predict how best to cut it for a cluster";
  command.usages = {"[options]"};
  command.options = {
      {"model", "MODEL", "as hocket train takes it (lenet)"},
      {"data", "DATA", "as hocket train takes it (fashion-mnist)"},
      {"batch", "N", "samples a step, of all ranks (128, or 16 for text)"},
      {"optimizer", "RULE", "whose updates and state count (the one the model is trained with)"},
      {"ranks", "N", "how many processes (2)"},
      {"mesh", "AXES", "pp=K stages, dp=N replicas of each, or both; else the best of all"},
      {"cluster", "TOPOLOGY", "where the ranks are: a file, uniform[:...] or this (this)"},
      {"schedule", "WAY", "of a pipeline: naive, gpipe, 1f1b, interleaved,chunks=N or pipedream (1f1b)"},
      {"speed", "LIST", "RANK=FACTOR: ranks that are so many times as fast as this machine"},
      {"memory", "LIST", "RANK=SIZE, as in 1=512MB, or one size for all"},
      {"threads", "N", "to measure with (this machine's share of a rank; all of it for other clusters)"},
  };
  for (Option& option : output_options()) {
    if (option.flag != "quiet") command.options.push_back(std::move(option));
  }
  command.examples = {
      "hocket plan --model gpt --data text:book.txt --ranks 4",
      "hocket plan --model mlp,hidden=2048x2048x2048 --ranks 4 --cluster uniform:bandwidth=1Gbit",
      "hocket plan --model gpt --mesh pp=2 --speed 1=0.5 --memory 0=512MB"};
  command.run = run_plan;
  return command;
}

}  // namespace hocket
