#include "cli/workers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/pin.h"
#include "cli/exit_code.h"
#include "cli/launch/launch.h"
#include "cli/terminal.h"

namespace hocket {
namespace {

constexpr Seconds kInterruption{3600};  // For the step and the checkpoint; a second Ctrl-C does not wait.

WorldOptions world_options(const TrainOptions& options) {
  WorldOptions world;
  if (options.transport.empty()) return world;
  const std::optional<TransportKind> kind = find_transport_kind(options.transport);
  if (!kind) throw ConfigError("transport {} is not known", options.transport);
  world.transport = *kind;
  return world;
}

}  // namespace

bool must_launch(const TrainOptions& options, const Environment& environment) {
  if (environment.source == Environment::Source::alone) {
    return Mesh::parse(options.mesh, options.workers).size() > 1;
  }
  if (options.workers > 0 && options.workers != environment.world_size) {
    throw ConfigError("--workers {}, but this is {}", options.workers, describe(environment));
  }
  Mesh::parse(options.mesh, environment.world_size);
  return false;
}

int launch_workers(const TrainOptions& options, const Arguments& arguments, const std::string& folder) {
  LaunchOptions launching;
  launching.words = {std::filesystem::read_symlink("/proc/self/exe").string(), "train"};
  launching.words.insert(launching.words.end(), arguments.typed().begin(), arguments.typed().end());
  if (!folder.empty()) launching.words.insert(launching.words.end(), {"--out", folder});
  const int workers = Mesh::parse(options.mesh, options.workers).size();
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

Team join_workers(const TrainOptions& options, const Environment& environment) {
  if (environment.world_size == 1) return {};
  MeetingOptions meeting;
  meeting.plaintext = options.plaintext;
  auto world = std::make_unique<World>(join_job(meeting), world_options(options));
  Team team(std::move(world), Mesh::parse(options.mesh, environment.world_size));
  const AxisShare own = team.share_of_host();
  if (options.threads == 0) pin_to_part(own.index, own.count);
  return team;
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
