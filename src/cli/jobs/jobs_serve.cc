#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/client_requests.h"
#include "cli/jobs/job_server.h"
#include "cli/jobs/jobs_verbs.h"
#include "cli/jobs/scheduler_place.h"
#include "cli/launch/signals_to_poll.h"
#include "cli/terminal.h"
#include "jobs/sqlite_job_store.h"
#include "net/job_key.h"
#include "train/file_system.h"

namespace hocket {
namespace {

constexpr Seconds kTick{0.1};
constexpr Seconds kPatience{10};  // With clients on a machine whose cores are all busy.

// A new scheduler makes its key, which only its owner can read.
void make_key(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) return;
  const std::string text = to_hex(random_key()) + '\n';
  const std::filesystem::path partial = file.string() + ".partial";
  const FileDescriptor out(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!out.is_open() || ::write(out.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(out.get()) != 0)
    throw Error("jobs: cannot write {}", partial.string());
  std::filesystem::rename(partial, file);
}

JobCoordinatorOptions options_of(const Arguments& arguments, const SchedulerPlace& place) {
  JobCoordinatorOptions options;
  options.policy = &find_policy(arguments.text("policy", "fifo"));
  options.policy_options.slot = seconds_of(arguments, "slot", options.policy_options.slot);
  options.policy_options.patience = seconds_of(arguments, "patience", options.policy_options.patience);
  options.most_restarts = static_cast<int>(arguments.integer("restarts", 100, 0, 1 << 30));
  options.folder = place.jobs_folder().string();
  return options;
}

}  // namespace

int run_jobs_serve(const Arguments& arguments) {
  const SchedulerPlace place = place_of(arguments);
  const JobCoordinatorOptions options = options_of(arguments, place);
  std::filesystem::create_directories(place.jobs_folder());
  const FileDescriptor lock = lock_file(place.folder / "lock", "a scheduler", Seconds(2));
  make_key(place.key_file());
  const JobKey key = place.key();
  SqliteJobStore store(place.queue_file());

  Endpoint endpoint = parse_endpoint(arguments.text("listen", "127.0.0.1:0"));
  endpoint.address = resolve(endpoint.address).front();
  ListenerOptions listening;
  listening.plaintext = place.plaintext;
  listening.patience = kPatience;
  Listener listener(listen_at(endpoint), key, listening, log_to_stderr());
  SignalsToPoll signals{SIGINT, SIGTERM};
  CoordinatorThread coordinator(store, options, log_to_stderr(),
                                [&](JobCoordinator& jobs, const std::string& request) {
                                  return answer_request(jobs, store, place.jobs_folder(), request);
                                });
  JobServer server(coordinator, std::move(listener), key);
  write_file_atomically(posix_file_system(), place.address_file(), to_string(server.endpoint()) + '\n');
  write_message(fmt::format("hocket: scheduling jobs by {} at {} in {}", options.policy->name,
                            to_string(server.endpoint()), place.folder.string()));
  while (!signals.take()) server.serve_once({{signals.fd(), POLLIN, 0}}, after(kTick));
  return kDone;  // Jobs run on: they belong to their agents.
}

std::vector<Option> jobs_serve_options() {
  const std::string group = "serve and agent";
  return {
      {"listen", "ADDRESS:PORT", "serve: where to listen (127.0.0.1, any port)", group},
      {"restarts", "N", "serve: how often a job that is killed is started again (100)", group},
      {"slots", "N", "agent: workers that fit on this machine (its cores)", group},
      {"rack", "N", "agent: the rack of this machine (0); simulate: machines in a rack (16)", group},
      {"machine-memory", "BYTES", "agent, simulate: of the machine (not limited)", group},
      {"stop-grace", "TIME", "agent: how long a job may take to write a checkpoint and end (1m)", group},
      {"plaintext", "", "authenticate, but do not encrypt between hosts", group},
  };
}

}  // namespace hocket
