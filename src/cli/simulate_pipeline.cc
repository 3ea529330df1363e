#include "cli/simulate_pipeline.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "plan/pipeline_chart.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kMostStages = 256;
constexpr std::int64_t kMostMicroBatches = 4096;

struct PipelineSetup {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  PipelineShape shape{1, 1};
  std::vector<PartCost> costs;
};

Seconds seconds_of(std::string_view text, std::string_view flag) {
  const std::optional<double> seconds = find_seconds(text);
  if (!seconds || *seconds < 0)
    throw ConfigError("--{}: expected a time such as 5ms, found '{}'", flag, text);
  return Seconds(*seconds);
}

// One time for all parts, or a list with one for each.
std::vector<Seconds> times_of(const Arguments& arguments, std::string_view flag, std::string_view fallback,
                              int parts) {
  std::vector<Seconds> times;
  std::string text = arguments.text(flag, fallback);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    times.push_back(seconds_of(std::string_view(text).substr(at, end - at), flag));
    at = end + 1;
  }
  if (times.size() == 1) times.resize(static_cast<std::size_t>(parts), times[0]);
  if (static_cast<int>(times.size()) != parts) {
    throw ConfigError("--{}: expected one time, or {}, one for each part; found {}", flag, parts,
                      times.size());
  }
  return times;
}

PipelineSetup pipeline_setup(const Arguments& arguments) {
  PipelineSetup setup;
  setup.schedule = parse_pipeline_schedule(arguments.text("schedule", "1f1b"));
  setup.shape.stages = static_cast<int>(arguments.integer("stages", 4, 1, kMostStages));
  setup.shape.micro_batches = static_cast<int>(arguments.integer("microbatches", 8, 1, kMostMicroBatches));
  const bool is_interleaved = setup.schedule == PipelineSchedule::interleaved;
  setup.shape.chunks = static_cast<int>(arguments.integer("chunks", is_interleaved ? 2 : 1, 1, kMostStages));
  setup.shape.vertical_sync = arguments.has("vertical-sync");
  check_shape(setup.schedule, setup.shape);

  const std::vector<Seconds> forward = times_of(arguments, "forward", "1ms", setup.shape.parts());
  const std::vector<Seconds> backward = times_of(arguments, "backward", "2ms", setup.shape.parts());
  const Seconds message = seconds_of(arguments.text("message", "0"), "message");
  for (std::size_t i = 0; i < forward.size(); ++i) {
    PartCost cost;
    cost.forward = forward[i];
    cost.backward = backward[i];
    cost.send_down = cost.send_up = message;
    setup.costs.push_back(cost);
  }
  return setup;
}

std::string as_text(const PipelineSetup& setup, const PipelineReplay& replay) {
  const PipelineShape& shape = setup.shape;
  std::string text = chart_of(replay) + '\n';
  text += fmt::format("{:<8}{:>12}{:>12}{:>24}{:>18}\n", "stage", "busy", "waiting",
                      "micro-batches in flight", "weight versions");
  for (int stage = 0; stage < shape.stages; ++stage) {
    const PipelineActions actions = pipeline_actions(setup.schedule, shape, stage);
    const Seconds busy = replay.busy[static_cast<std::size_t>(stage)];
    text += fmt::format("{:<8}{:>12}{:>12}{:>24}{:>18}\n", stage, seconds_text(busy.count()),
                        seconds_text((replay.time - busy).count()), most_in_flight(actions),
                        versions_kept(actions));
  }
  text += fmt::format("\n{}: {} stages, {} micro-batches, {}: {}, bubble {}", name_of(setup.schedule),
                      shape.stages, shape.micro_batches,
                      shape.chunks == 1 ? "one part each" : fmt::format("{} chunks each", shape.chunks),
                      seconds_text(replay.time.count()), percent_text(replay.bubble()));
  if (setup.schedule == PipelineSchedule::pipedream) {
    text += fmt::format(" with filling and draining, {} while full", percent_text(replay.steady_bubble()));
  }
  return text + fmt::format("\nof equal parts and free messages it would be {}\n",
                            percent_text(ideal_bubble(setup.schedule, shape)));
}

std::string as_json(const PipelineSetup& setup, const PipelineReplay& replay) {
  const PipelineShape& shape = setup.shape;
  OrderedJson json{{"schedule", name_of(setup.schedule)},
                   {"stages", shape.stages},
                   {"micro_batches", shape.micro_batches},
                   {"chunks", shape.chunks},
                   {"vertical_sync", shape.vertical_sync},
                   {"seconds", replay.time.count()},
                   {"bubble", replay.bubble()},
                   {"ideal_bubble", ideal_bubble(setup.schedule, shape)}};
  if (setup.schedule == PipelineSchedule::pipedream) json["steady_bubble"] = replay.steady_bubble();
  for (int stage = 0; stage < shape.stages; ++stage) {
    const PipelineActions actions = pipeline_actions(setup.schedule, shape, stage);
    json["by_stage"].push_back({{"busy_seconds", replay.busy[static_cast<std::size_t>(stage)].count()},
                                {"in_flight", most_in_flight(actions)},
                                {"weight_versions", versions_kept(actions)}});
  }
  for (const PipelineSpan& span : replay.spans) {
    json["spans"].push_back({{"stage", span.stage},
                             {"action", name_of(span.action.kind)},
                             {"micro_batch", span.action.micro_batch},
                             {"chunk", span.action.chunk},
                             {"version", span.action.version},
                             {"begin", span.begin.count()},
                             {"end", span.end.count()}});
  }
  return json.dump(2) + '\n';
}

}  // namespace

int run_simulate_pipeline(const Arguments& arguments) {
  const PipelineSetup setup = pipeline_setup(arguments);
  const PipelineReplay replay = replay_pipeline(setup.schedule, setup.shape, setup.costs);
  write_output(arguments.has("json") ? as_json(setup, replay) : as_text(setup, replay));
  return kDone;
}

std::vector<Option> simulate_pipeline_options() {
  const std::string group = "of a pipeline";
  return {
      {"schedule", "NAME", "naive, gpipe, 1f1b, interleaved or pipedream (1f1b)", group},
      {"stages", "K", "ranks, one after the other (4)", group},
      {"microbatches", "M", "parts of a batch (8)", group},
      {"chunks", "V", "parts of the model on each rank, of interleaved (2)", group},
      {"vertical-sync", "", "pipedream: a micro-batch meets one version of the weights everywhere", group},
      {"forward", "TIME", "of one micro-batch; of each part in a list with commas (1ms)", group},
      {"backward", "TIME", "the same (2ms)", group},
      {"message", "TIME", "from one part to the next (0)", group}};
}

}  // namespace hocket
