#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/job_message.h"
#include "jobs/job_record.h"
#include "jobs/policy.h"
#include "net/log.h"

namespace hocket {

class JobOutbox {
 public:
  virtual ~JobOutbox() = default;
  virtual void send(int machine, const JobMessage& message) = 0;  // Lost when the machine is away.
};

struct JobCoordinatorOptions {
  const Policy* policy = nullptr;
  PolicyOptions policy_options;
  int most_restarts = 100;  // Of a job that ends without being told to.
  std::string folder;       // Where the jobs have their folders, the same on all machines.
};

// The scheduler of the real cluster, as a state machine: used by one thread, never blocks, no clock, disk or
// socket of its own. Times are seconds since 1970.
//
// Every decision is in the store before it is acted on. A job belongs to the machine it was started on until
// that machine's agent says that the attempt has ended, or comes back without it: so no job ever runs twice
// at once, and running jobs do not notice when this object is lost and made anew.
class JobCoordinator {
 public:
  JobCoordinator(JobStore& store, JobCoordinatorOptions options, JobOutbox& outbox, Log log);

  // Throw ConfigError for what cannot be, and Error when the store cannot write; then nothing has changed.
  JobId submit(JobRecord request, double now);
  void cancel(JobId id, double now);
  void retry(JobId id, double now);  // A failed or cancelled job waits again.
  // Somebody knows that nothing runs on a machine that is away: its jobs wait again. How many they are.
  int release(const std::string& machine, double now);

  int machine_of(const AgentArrives& agent);  // Which machine it is; from now on messages go to it.
  void on_arrival(int machine, const AgentArrives& agent, double now);
  void on_departure(int machine);
  void on_ended(int machine, const AttemptEnded& ended, double now);
  void on_rate(int machine, const AttemptRate& rate);
  // Returns when to decide again at the latest, if not a few times a second.
  std::optional<double> decide(double now);

  const std::map<JobId, JobRecord>& records() const { return records_; }
  const std::vector<ClusterMachine>& machines() const { return machines_; }
  const JobRecord& record(JobId id) const;  // Throws ConfigError.

 private:
  template <typename Change>
  void change(JobId id, Change what);
  ClusterState state_at(double now) const;
  void start(JobId id, const Allocation& allocation, std::optional<JobId> host, double now);
  void stop(JobId id, const Allocation& next);
  void tell_to_stop(const JobRecord& record);
  void lose_part(JobId id, int machine, const char* how, double now);
  void end_part(JobId id, int machine, const AttemptEnded& ended, bool is_told_by_agent, double now);
  void end_attempt(JobId id, const AttemptEnded& ended, bool is_told_by_agent, double now);
  JobRecord* partner_of(const JobRecord& record);  // With whom it shares slots, if with anybody.
  std::map<std::string, double> mean_lengths() const;

  JobStore& store_;
  JobCoordinatorOptions options_;
  JobOutbox& outbox_;
  Log log_;
  std::map<JobId, JobRecord> records_;
  std::vector<ClusterMachine> machines_;
};

}  // namespace hocket
