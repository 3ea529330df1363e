#pragma once

#include <map>
#include <vector>

#include "jobs/job_message.h"

namespace hocket {

// Starts and ends the processes of attempts. on_exit() of the agent hears of every one that was started.
class JobProcesses {
 public:
  virtual ~JobProcesses() = default;
  virtual void start(const StartAttempt& start) = 0;    // Throws Error when it cannot.
  virtual void interrupt(const JobAttempt& which) = 0;  // Write a checkpoint and end.
  virtual void kill(const JobAttempt& which) = 0;
};

// What runs on one machine, as a state machine: used by one thread, no clock and no socket of its own. What
// has ended is told to every coordinator that comes until one says that it knows. Jobs go on without a
// coordinator.
class JobAgent {
 public:
  JobAgent(AgentArrives self, double stop_grace, JobProcesses& processes)
      : self_(std::move(self)), stop_grace_(stop_grace), processes_(processes) {}

  AgentArrives arrival() const;  // The first message on every new connection.
  // What to answer at once.
  std::vector<JobMessage> on_message(const JobMessage& message, double now);
  JobMessage on_exit(AttemptEnded ended);
  void on_tick(double now);  // A process that was told to stop and has not is killed.
  void stop_all(double now);

  bool is_idle() const { return running_.empty(); }

 private:
  struct Running {
    int attempt = 0;
    double kill_at = 0;  // 0: not told to stop.
  };

  std::vector<JobMessage> start(const StartAttempt& start);
  std::vector<JobMessage> stop(const JobAttempt& which, double now);

  AgentArrives self_;
  double stop_grace_;
  JobProcesses& processes_;
  std::map<JobId, Running> running_;
  std::map<JobAttempt, AttemptEnded> ended_;
};

}  // namespace hocket
