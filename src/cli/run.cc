#include "cli/run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/nodes/roles.h"
#include "cli/run_recorder.h"
#include "cli/units.h"
#include "cli/version.h"
#include "report/report.h"
#include "sync/discipline.h"
#include "train/file_system.h"
#include "train/hogwild.h"
#include "train/merge_traces.h"
#include "train/node_spans.h"
#include "train/sandblaster_recorder.h"
#include "train/server_recorder.h"
#include "train/straggler.h"

namespace hocket {
namespace {

Summary planned_summary(const TrainOptions& options, const Start& start, const Team& team) {
  Summary summary;
  summary.model = options.model;
  summary.data = options.data;
  const bool with_servers = has_servers(options);
  const bool has_threads = is_hogwild(options);
  const Mesh mesh = with_servers  ? Mesh::parse(options.mesh, 0)
                    : has_threads ? Mesh::parse(options.mesh, options.workers)
                                  : team.mesh();
  const bool has_driver = !team.is_alone() && Discipline::parse(options.sync).has_driver();
  summary.workers = mesh.size() - (has_driver ? 1 : 0);
  summary.servers = with_servers ? options.servers : 0;
  summary.mesh = has_driver ? Mesh::parse("", summary.workers).text() : mesh.text();
  if (mesh.size_of("pp") > 1) summary.schedule = options.schedule.empty() ? "1f1b" : options.schedule;
  summary.micro_batches = options.micro_batches;
  summary.zero = options.zero;
  summary.compress = options.compress;
  summary.restarts = start.restarts;
  if (with_servers || has_threads || !team.is_alone()) summary.sync = options.sync;
  summary.transport = with_servers ? "servers" : has_threads ? "threads" : team.transport();
  summary.dtype = options.dtype;
  summary.seed = options.seed;
  summary.emulated =
      is_emulated(options) || (!options.emulate_net.empty() && (with_servers || !team.is_alone()));
  summary.zero = options.zero;
  if (options.target_accuracy > 0) summary.target_accuracy = options.target_accuracy;
  summary.version = kVersion;
  return summary;
}

// The run's own: the clock of the first rank, the processors of all, and what an average rank did with its
// time.
RankSeconds seconds_of(const TrainResult& result) {
  RankSeconds seconds = result.seconds;
  seconds = {.wall_seconds = seconds.wall_seconds, .train_seconds = seconds.train_seconds};
  const auto ranks = static_cast<double>(result.ranks.size());
  for (const RankSeconds& rank : result.ranks) {
    seconds.cpu_seconds += rank.cpu_seconds;
    seconds.compute_seconds += rank.compute_seconds / ranks;
    seconds.comm_seconds += rank.comm_seconds / ranks;
    seconds.exposed_comm_seconds += rank.exposed_comm_seconds / ranks;
    seconds.wait_seconds += rank.wait_seconds / ranks;
  }
  return seconds;
}

double mean_staleness(const std::vector<GradientCounts>& gradients) {
  double sum = 0;
  std::int64_t applied = 0;
  for (const GradientCounts& each : gradients) {
    sum += each.mean_staleness * static_cast<double>(each.applied);
    applied += each.applied;
  }
  return applied == 0 ? 0 : sum / static_cast<double>(applied);
}

Summary summarize(const TrainOptions& options, const Start& start, const Team& team,
                  const TrainResult& result, double epochs) {
  Summary summary = planned_summary(options, start, team);
  summary.status = result.interrupted ? "interrupted" : "done";
  summary.threads = result.threads;
  summary.parameters = result.parameters;
  summary.epochs = epochs;
  summary.steps = result.steps;
  summary.samples = result.samples;
  summary.seconds = seconds_of(result);
  summary.ranks = result.ranks;
  if (summary.seconds.train_seconds > 0) {
    summary.samples_per_second = static_cast<double>(result.samples) / summary.seconds.train_seconds;
  }
  if (summary.seconds.comm_seconds > 0) {
    // Waiting for a thread to say that it has finished can take longer than what it did.
    summary.exposed_comm_fraction =
        std::min(1.0, summary.seconds.exposed_comm_seconds / summary.seconds.comm_seconds);
  }
  summary.algorithm = result.algorithm;
  summary.gradients = result.gradients;
  summary.portions = result.portions;
  summary.peers = result.peers;
  summary.conflicts = result.conflicts;
  summary.shares = result.shares;
  summary.bubble_fraction = result.bubble_fraction;
  summary.activation_bytes = result.activation_bytes;
  summary.staleness = mean_staleness(result.gradients);
  summary.bytes_sent = result.bytes_sent;
  summary.messages_sent = result.messages_sent;
  if (result.test) {
    summary.test_accuracy = result.test->accuracy;
    summary.test_auc = result.test->auc;
    summary.test_loss = result.test->loss;
  }
  summary.best_test_accuracy = result.best_test_accuracy;
  summary.time_to_target = result.time_to_target;
  summary.peak_rss_bytes = static_cast<std::uint64_t>(result.peak_rss_bytes);
  summary.parameter_hash = result.parameter_hash;
  return summary;
}

void write_report(const RunFolder& folder) {
  const RunData data[] = {load_run(folder.path())};
  write_file_atomically(posix_file_system(), folder.report_file(), render_report(data));
}

// Of a rank that is not the first.
class FollowingObserver final : public TrainObserver {
 public:
  explicit FollowingObserver(Communicator* communicator) : spans_(communicator) {}
  void on_span(Activity activity, std::int64_t start_ns, std::int64_t end_ns) override {
    spans_.record(activity, start_ns, end_ns);
  }
  const Timeline& timeline() const { return spans_.timeline(); }

 private:
  SpanRecorder spans_;
};

// The part of a rank that is not the first.
Run follow_run(const TrainOptions& options, const RunFolder& folder, const Start& start,
               const std::atomic<bool>& stop, Team& team) {
  FollowingObserver observer(team.communicator());
  const TrainResult result = train(options, observer, stop, team);
  merge_traces(team, observer.timeline());
  return {folder, summarize(options, start, team, result, 0), result};
}

TrainResult record(const TrainOptions& options, TrainObserver& observer, const std::atomic<bool>& stop,
                   const NodePlace* place, Team& team) {
  if (is_hogwild(options)) return train_hogwild(options, observer, stop);
  if (place == nullptr) return train(options, observer, stop, team);
  return is_sandblaster(options) ? record_for_sandblaster(options, observer, stop, *place)
                                 : record_for_servers(options, observer, stop, *place);
}

}  // namespace

void leave_failed(const RunFolder& folder, const TrainOptions& options, const Start& start,
                  const Team& team) noexcept {
  try {
    Summary summary = planned_summary(options, start, team);
    summary.status = "failed";
    write_summary(folder.summary_file(), summary);
  } catch (const std::exception&) {  // What made the run fail is what the user hears of.
  }
}

int Run::exit_code(int when_interrupted) const {
  if (result.interrupted) return when_interrupted;
  return result.target_missed ? kTargetMissed : kDone;
}

Run execute_run(const Settings& settings, const RunFolder& folder, const Start& start, Progress& progress,
                const std::atomic<bool>& stop, Team& team, const NodePlace* place) {
  TrainOptions options = place == nullptr ? settings.train_options() : with_servers(settings.train_options());
  options.out = folder.path().string();
  options.resume = start.resumes;
  team.set_flight_folder(folder.path());
  if (!team.is_first()) return follow_run(options, folder, start, stop, team);
  RunRecorder recorder(folder, render_config(settings.effective()), start.resumes, progress,
                       team.communicator());
  try {
    const bool leads = place != nullptr || is_hogwild(options);  // And does not train itself.
    if (leads) begin_node_spans(folder.path(), recorder.timeline().origin());
    const TrainResult result = record(options, recorder, stop, place, team);
    const auto workers = static_cast<int>(result.ranks.size());
    const std::string trace = leads ? collect_node_spans(folder.path(), workers, recorder.timeline())
                                    : merge_traces(team, recorder.timeline());
    progress.close();
    Run run{folder, summarize(options, start, team, result, recorder.epoch()), result};
    write_summary(folder.summary_file(), run.summary);
    write_file_atomically(posix_file_system(), folder.trace_file(), trace);
    write_report(folder);
    return run;
  } catch (const Error&) {
    if (recorder.has_started()) leave_failed(folder, options, start, team);
    throw;
  }
}

std::string describe(const Run& run) {
  const Summary& summary = run.summary;
  std::string text;
  const auto line = [&](std::string_view what, const std::string& value) {
    text += fmt::format("{:<15}{}\n", what, value);
  };
  if (summary.test_accuracy) {
    line("test accuracy",
         fmt::format("{} (best {})", percent_text(*summary.test_accuracy),
                     percent_text(summary.best_test_accuracy.value_or(*summary.test_accuracy))));
  }
  if (summary.test_auc) line("test AUC", fmt::format("{:.4f}", *summary.test_auc));
  if (summary.test_loss) line("test loss", fmt::format("{:.4f}", *summary.test_loss));
  line("train loss", fmt::format("{:.4f}", run.result.train_loss));
  if (run.result.objective) line("objective", fmt::format("{:.2f}", *run.result.objective));
  if (summary.time_to_target) line("to the target", duration_text(*summary.time_to_target));
  if (run.result.target_missed) line("target", percent_text(*summary.target_accuracy) + " was not reached");
  line("time",
       fmt::format("{}, of it {} in {} steps, {} samples/s", duration_text(summary.seconds.wall_seconds),
                   duration_text(summary.seconds.train_seconds), count_text(summary.steps),
                   count_text(static_cast<std::int64_t>(summary.samples_per_second))));
  if (summary.servers > 0) {
    std::int64_t dropped = 0;
    for (const GradientCounts& counts : summary.gradients) dropped += counts.dropped;
    line("workers", fmt::format("{} and {} server{} by {}, {} of the time waiting", summary.workers,
                                summary.servers, summary.servers == 1 ? "" : "s", summary.sync,
                                percent_text(summary.seconds.wait_seconds / summary.seconds.train_seconds)));
    line("gradients",
         fmt::format("staleness {:.2f} on average, {} dropped", summary.staleness, count_text(dropped)));
  } else if (summary.conflicts) {
    line("threads", fmt::format("{} by {}, {} of the time waiting", summary.workers, summary.sync,
                                percent_text(summary.seconds.wait_seconds / summary.seconds.train_seconds)));
    line("conflicts", fmt::format("{} of what was written another had changed meanwhile; staleness {:.2f}",
                                  percent_text(summary.conflicts->rate()), summary.staleness));
  } else if (summary.workers > 1) {
    line("workers",
         fmt::format("{} as {} over {}, {} of the time in {} by {}", summary.workers, summary.mesh,
                     summary.transport,
                     percent_text(summary.seconds.exposed_comm_seconds / summary.seconds.train_seconds),
                     summary.sync, summary.algorithm));
  }
  if (summary.peers && summary.peers->graph) {
    const PeerCounts& peers = *summary.peers;
    line("gossip",
         fmt::format("over {}: spectral gap {:.4f}", peers.graph->name, 1 - peers.graph->second_eigenvalue));
    if (peers.consensus_distance)
      line("consensus", fmt::format("replicas are {:.3g} from their mean", *peers.consensus_distance));
    if (!peers.steps.empty()) line("steps", fmt::format("{} by worker", fmt::join(peers.steps, ", ")));
  }
  if (summary.bubble_fraction) {
    line("pipeline",
         fmt::format("{} with {} micro-batches, {} of the ranks' time not computing", summary.schedule,
                     summary.micro_batches, percent_text(*summary.bubble_fraction)));
  }
  if (summary.portions) {
    line("portions",
         fmt::format("{} in {} evaluations, {} of them to a second worker; {} of scalars",
                     count_text(summary.portions->tasks), count_text(summary.portions->evaluations),
                     count_text(summary.portions->backups),
                     bytes_text(static_cast<double>(summary.portions->coordinator_bytes))));
  }
  if (summary.emulated) line("emulated", "workers slept where slower ones would compute");
  line("parameters", fmt::format("{}, hash {}", count_text(summary.parameters), summary.parameter_hash));
  line("run folder", run.folder.path().string());
  line("report", run.folder.report_file().string());
  if (run.result.interrupted) {
    line("interrupted", fmt::format("go on with: hocket train --resume {}", run.folder.path().string()));
  }
  return text;
}

std::string run_json(const Run& run) {
  auto json = nlohmann::ordered_json::parse(to_json(run.summary));
  json["train_loss"] = run.result.train_loss;
  json["first_step_seconds"] = run.result.first_step_seconds;
  json["objective"] = run.result.objective ? nlohmann::ordered_json(*run.result.objective) : nullptr;
  json["run"] = run.folder.path().string();
  json["report"] = run.folder.report_file().string();
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace hocket
