#include "cli/workers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/pin.h"
#include "cli/exit_code.h"
#include "cli/launch/launch.h"
#include "cli/terminal.h"
#include "sync/discipline.h"

namespace hocket {
namespace {

// Workers, and the driver where there is one: the first rank.
int process_count(const TrainOptions& options) {
  const int workers = Mesh::parse(options.mesh, options.workers).size();
  if (!Discipline::parse(options.sync).has_driver()) return workers;
  if (!options.mesh.empty())
    throw ConfigError("--mesh does not go with --sync {}; say --workers", options.sync);
  return workers + 1;
}

constexpr Seconds kInterruption{3600};  // For the step and the checkpoint; a second Ctrl-C does not wait.

WorldOptions world_options(const TrainOptions& options) {
  WorldOptions world;
  if (options.transport.empty()) return world;
  const std::optional<TransportKind> kind = find_transport_kind(options.transport);
  if (!kind) throw ConfigError("transport {} is not known", options.transport);
  world.transport = *kind;
  return world;
}

// The job's own links if none are emulated.
std::unique_ptr<EmulatedNet> emulate_links(const std::string& topology, const Job& job) {
  if (topology.empty()) return nullptr;
  const Member& own = job.members[static_cast<std::size_t>(job.rank)];
  for (const Member& member : job.members) {
    if (member.host_id != own.host_id)
      throw ConfigError("--emulate-net is for workers of one host, and these are on {} and {}", own.host,
                        member.host);
  }
  return std::make_unique<EmulatedNet>(topology, job.size(), job.id);
}

}  // namespace

bool must_launch(const TrainOptions& options, const Environment& environment) {
  if (environment.source == Environment::Source::alone) return process_count(options) > 1;
  if (options.workers > 0 && process_count(options) != environment.world_size) {
    throw ConfigError("--workers {}, but this is {}", options.workers, describe(environment));
  }
  Mesh::parse(options.mesh, environment.world_size);
  return false;
}

int launch_workers(const TrainOptions& options, const Arguments& arguments,
                   const std::vector<std::string>& more) {
  LaunchOptions launching;
  launching.words = {std::filesystem::read_symlink("/proc/self/exe").string(), "train"};
  launching.words.insert(launching.words.end(), arguments.typed().begin(), arguments.typed().end());
  launching.words.insert(launching.words.end(), more.begin(), more.end());
  const int workers = process_count(options);
  if (!options.emulate_net.empty())
    open_topology(options.emulate_net, workers);  // Or each says what is wrong.
  launching.hosts = parse_hosts("localhost:" + std::to_string(workers));
  launching.plaintext = options.plaintext;
  launching.ranks_explain = true;
  launching.interruption = kInterruption;
  while (true) {
    const int code = launch(launching);
    if (code != kPeerFailed || launching.restarts == options.restarts) return code;
    if (launching.restarts == 0 && !arguments.has("resume")) launching.words.push_back("--resume");
    ++launching.restarts;
    write_message(
        fmt::format("hocket: starting all {} workers anew from the newest checkpoint (restart {} of {})",
                    workers, launching.restarts, options.restarts));
  }
}

Workers join_workers(const TrainOptions& options, const Environment& environment) {
  if (environment.world_size == 1) return {};
  MeetingOptions meeting;
  meeting.plaintext = options.plaintext;
  std::unique_ptr<Membership> membership = join_job(meeting);
  const std::uint64_t job = membership->job().id;
  Workers workers{emulate_links(options.emulate_net, membership->job())};
  WorldOptions with = world_options(options);
  if (workers.links) with.emulation = &workers.links->ledger();
  workers.team = Team(std::make_unique<World>(std::move(membership), with),
                      Mesh::parse(options.mesh, environment.world_size));
  if (workers.links) {
    workers.team.barrier();
    EmulatedNet::forget_job(job);
  }
  const AxisShare own = workers.team.share_of_host();
  if (options.threads == 0) pin_to_part(own.index, own.count);
  return workers;
}

std::string warning_of_spread(const Mesh& mesh, std::span<const int> hosts) {
  for (Rank rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> members = mesh.members(rank, "tp");
    const int host = hosts[static_cast<std::size_t>(rank)];
    const auto is_beside = [&](int member) { return hosts[static_cast<std::size_t>(member)] == host; };
    const auto beside = std::count_if(members.begin(), members.end(), is_beside);
    if (beside == mesh.size_of("tp")) continue;
    return fmt::format(
        "tp={}, but of ranks {} only {} {} on the host of rank {}: what they send for each layer crosses "
        "hosts",
        mesh.size_of("tp"), fmt::join(members, ","), beside, beside == 1 ? "is" : "are", rank);
  }
  return "";
}

}  // namespace hocket
