#include "cli/explain.h"

#include <algorithm>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/explain_text.h"
#include "cli/terminal.h"
#include "graph/dot.h"
#include "graph/text.h"
#include "train/session.h"

namespace hocket {
namespace {

constexpr const char* kHere = "this";

// The axes in the opposite order.
Mesh reversed(const Mesh& mesh) {
  std::vector<Mesh::Axis> axes = mesh.axes();
  std::reverse(axes.begin(), axes.end());
  return Mesh(axes);
}

std::optional<OtherOrder> other_order(const StepExplanation& step, const Mesh& mesh,
                                      const Topology& topology) {
  const auto is_cut = [](const Mesh::Axis& axis) { return axis.size > 1; };
  if (topology.count(Level::host) == 1 || std::count_if(mesh.axes().begin(), mesh.axes().end(), is_cut) < 2)
    return std::nullopt;
  MeshPrices prices(reversed(mesh), topology);
  return OtherOrder{prices.mesh().text(), price_of(step, prices)};
}

// As an edge of the graph says it: "dp sharded(0), tp replicated".
std::string placements_text(const PlacedStep& step, const Mesh& mesh, ValueId id) {
  const std::string& name = step.placed.graph->value(id).name;
  for (const FlatBucket& bucket : step.buckets) {
    if (bucket.name == name) return "dp flat";
  }
  const auto at = step.placed.placements.find(id);
  if (at == step.placed.placements.end()) return "";
  std::string text;
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", mesh.axes()[axis].name, to_string(at->second[axis]));
  }
  return text;
}

ExplainedRun explain(const TrainOptions& options, const PlacedStep& step, const ProgramOptions& program,
                     const Topology& topology, const std::string& topology_name) {
  const Mesh& mesh = program.place.mesh;
  ExplainedRun run;
  run.model = options.model;
  run.mesh = mesh.size() == 1 ? "one rank" : mesh.text();
  run.batch = options.batch;
  run.zero = options.zero;
  run.topology = topology_name;
  run.hosts = topology.count(Level::host);
  run.racks = topology.count(Level::rack);
  run.step = explain_step(step, program);
  MeshPrices prices(mesh, topology);
  for (const StepCollective& item : run.step.collectives)
    run.prices.push_back(prices.price(item.collective, item.bytes, item.axis));
  run.price = price_of(run.step, prices);
  run.other_order = other_order(run.step, mesh, topology);
  run.graph = print_text(*step.placed.graph);
  return run;
}

}  // namespace

std::vector<Option> explain_options() {
  const std::string group = "without training";
  return {{"explain", "HOW", "show how the step is cut, what it sends and why; as a table, dot or graph",
           group, Option::Takes::optional_value},
          {"topology", "TOPOLOGY",
           "with --explain: where the ranks are, for predicted times: a file, uniform[:...] or this (this)",
           group}};
}

void require_explain(const Arguments& arguments) {
  if (arguments.has("topology")) throw ConfigError("--topology goes with --explain");
}

int explain_run(const TrainOptions& given, const Environment& environment, const Arguments& arguments) {
  const std::string how = arguments.text("explain");
  if (!how.empty() && how != "dot" && how != "graph")
    throw ConfigError("--explain {}: there is a table (--explain alone), dot and graph", how);
  if (environment.rank > 0) return kDone;
  const SessionData data = open_session_data(given);
  const TrainOptions options = with_defaults(given, data.train->info());
  const bool is_alone = environment.source == Environment::Source::alone;
  const Mesh mesh = Mesh::parse(options.mesh, is_alone ? options.workers : environment.world_size);
  const std::string topology_name = arguments.text("topology", kHere);
  const Topology topology = open_topology(topology_name, mesh.size());

  const bool overlaps = mesh.size() > 1 && (options.transport == "tcp" || topology.count(Level::host) > 1);
  const std::unique_ptr<Graph> model = build_batch_model(options, data.train->info(), mesh);
  const ProgramOptions program = program_options(options, *model, mesh, 0, overlaps);
  const PlacedStep step = training_step(*model, program);
  if (how == "dot") {
    write_output(print_dot(*step.placed.graph, [&](ValueId id) { return placements_text(step, mesh, id); }));
  } else if (how == "graph") {
    write_output(print_text(*step.placed.graph));
  } else {
    const ExplainedRun run = explain(options, step, program, topology, topology_name);
    write_output(arguments.has("json") ? explain_as_json(run) : explain_as_text(run));
  }
  return kDone;
}

}  // namespace hocket
