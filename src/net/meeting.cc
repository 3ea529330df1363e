#include "net/meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

#include "base/error.h"
#include "net/authenticate.h"
#include "net/job_key.h"
#include "net/join.h"
#include "net/monitor.h"
#include "net/pmi.h"
#include "net/rendezvous.h"
#include "net/venue.h"

namespace hocket {
namespace {

constexpr Seconds kRetry{0.05};
constexpr Seconds kOneTry{5.0};
constexpr Seconds kRefusedLongEnough{3.0};
constexpr Seconds kCoordinatorFirst{2.0};  // It knows better than a rank who is missing.

class NobodyToConnect final : public Connector {
 public:
  std::vector<std::vector<std::unique_ptr<Stream>>> connect(unsigned,
                                                            std::span<const Rank> members) override {
    return std::vector<std::vector<std::unique_ptr<Stream>>>(members.size());
  }
};

class Alone final : public Membership {
 public:
  Alone() {
    job_.key = random_key();
    job_.id = job_id(job_.key);
    job_.members.push_back({this_host_name(), "127.0.0.1", 0, this_host_id(), ::getpid()});
  }
  const Job& job() const override { return job_; }
  Health& health() override { return health_; }
  Connector& connector() override { return connector_; }

 private:
  Job job_;
  Health health_;
  NobodyToConnect connector_;
};

// How a rank came in: all that the meeting leaves behind.
struct Arrival {
  Job job;
  Listener listener;
  FramedStream coordinator;
  MonitorOptions monitor;
  std::unique_ptr<CoordinatorServer> server;
};

// Under mpirun: MPI is there before the meeting and until after it.
class MpiMembership final : public Membership {
 public:
  MpiMembership(std::unique_ptr<MpiPlugin> mpi, const Environment& environment, MeetingOptions options)
      : mpi_(std::move(mpi)) {
    options.exchange = [this](std::span<const std::byte> mine) { return mpi_->exchange(mine); };
    joined_ = join_job(environment, options);
  }
  ~MpiMembership() override {
    if (joined_->health().failed()) mpi_->abandon();
  }

  const Job& job() const override { return joined_->job(); }
  Health& health() override { return joined_->health(); }
  Connector& connector() override { return joined_->connector(); }
  MpiPlugin* mpi() override { return mpi_.get(); }

 private:
  std::unique_ptr<MpiPlugin> mpi_;
  std::unique_ptr<Membership> joined_;
};

class JoinedMembership final : public Membership {
 public:
  JoinedMembership(Arrival arrival, const MeetingOptions& options)
      : server_(std::move(arrival.server)),
        job_(std::move(arrival.job)),
        monitor_(std::move(arrival.coordinator), health_, std::move(arrival.monitor)),
        connector_(job_, health_, std::move(arrival.listener), options.tcp, options.log) {}

  ~JoinedMembership() override {
    if (std::uncaught_exceptions() <= exceptions_before_) return;
    const Member& me = job_.members[static_cast<std::size_t>(job_.rank)];
    health_.report({job_.rank, fmt::format("{} ended with an error", describe(job_.rank, me))});
  }

  const Job& job() const override { return job_; }
  Health& health() override { return health_; }
  Connector& connector() override { return connector_; }

 private:
  const int exceptions_before_ = std::uncaught_exceptions();
  std::unique_ptr<CoordinatorServer> server_;
  const Job job_;
  Health health_;
  Monitor monitor_;
  TcpConnector connector_;
};

// Tries until the coordinator is there, or to the deadline: the first rank may come last. Who is refused has
// found the wrong job or a file left over from another, and does not try that long.
FramedStream reach(const Venue& venue, const Environment& environment, JoinRequest request,
                   MeetingPlace& place) {
  const TimePoint deadline = request.deadline;
  TimePoint give_up = deadline;
  std::string why = "no job key was left for it on this host; between hosts set HOCKET_JOB_KEY";
  while (true) {
    if (const auto found = venue.place()) {
      place = *found;
      request.deadline = std::min(deadline, after(kOneTry));
      try {
        return call_coordinator(place, request);
      } catch (const NetError& error) {
        give_up = deadline;
        why = error.what();
      } catch (const Refused& refused) {
        give_up = std::min(give_up, after(kRefusedLongEnough));
        why = fmt::format("{} refuses this rank: {}", to_string(place.coordinator), refused.what());
      }
    }
    if (Clock::now() >= give_up) {
      throw NetError("rank {} of {} found no coordinator: {}", environment.rank, environment.world_size, why);
    }
    std::this_thread::sleep_for(kRetry);
  }
}

std::string coordinator_name(const Venue& venue, const std::vector<Member>& members,
                             const Endpoint& endpoint) {
  if (venue.coordinator_rank < 0) return fmt::format("the launcher ({})", to_string(endpoint));
  return describe(venue.coordinator_rank, members[static_cast<std::size_t>(venue.coordinator_rank)]);
}

Arrival arrive(const Environment& environment, const MeetingOptions& options) {
  const bool plaintext = environment.plaintext || options.plaintext;
  Exchange exchange = options.exchange;
  if (!exchange && environment.pmi_fd) {
    exchange = pmi_exchange(*environment.pmi_fd, environment.rank, environment.world_size, options.timeout);
  }
  Venue venue =
      find_venue(environment, {options.timeout, options.heartbeat, plaintext, exchange, options.log});
  exchange = {};  // Ends a session of PMI.
  JoinRequest request{environment.rank, environment.world_size, plaintext, after(options.timeout)};
  MeetingPlace place;
  FramedStream coordinator = reach(venue, environment, request, place);

  const std::string address = local_address_towards(place.coordinator.address);
  Listener listener(listen_at({address, 0}), place.key, {.rank = environment.rank, .plaintext = plaintext},
                    options.log);
  const Member me{this_host_name(), address, listener.endpoint().port, this_host_id(), ::getpid()};
  request.deadline = after(options.timeout + kCoordinatorFirst);
  Welcome welcome = join(coordinator, me, request);
  MonitorOptions monitor{venue.coordinator_rank, coordinator_name(venue, welcome.members, place.coordinator),
                         options.heartbeat, std::move(welcome.coordinator)};
  return {{job_id(place.key), place.key, environment.rank, std::move(welcome.members), plaintext},
          std::move(listener),
          std::move(coordinator),
          std::move(monitor),
          std::move(venue.server)};
}

// Overwrites the value where /proc shows it, too.
void scrub(const char* name) {
  if (char* value = std::getenv(name)) {
    std::memset(value, 0, std::strlen(value));
    ::unsetenv(name);
  }
}

}  // namespace

std::unique_ptr<Membership> join_job(const Environment& environment, const MeetingOptions& options) {
  if (environment.source == Environment::Source::alone) return std::make_unique<Alone>();
  if (environment.source == Environment::Source::mpi && !options.exchange) {
    if (auto mpi = find_mpi(environment.rank, environment.world_size))
      return std::make_unique<MpiMembership>(std::move(mpi), environment, options);
  }
  return std::make_unique<JoinedMembership>(arrive(environment, options), options);
}

std::unique_ptr<Membership> join_job(const MeetingOptions& options) {
  const Environment environment = detect_environment(process_variables());
  scrub("HOCKET_JOB_KEY");
  const bool is_foreign = environment.source != Environment::Source::alone &&
                          environment.source != Environment::Source::hocket_launch;
  if (is_foreign && environment.rank == 0) options.log(describe(environment));
  return join_job(environment, options);
}

}  // namespace hocket
