#pragma once

#include <poll.h>

#include <map>
#include <string>
#include <vector>

#include "cli/jobs/scheduler_place.h"
#include "cli/launch/rank_process.h"
#include "jobs/job_agent.h"

namespace hocket {

// Attempts as processes: each is `hocket train` in a process group of its own that resumes the run in the
// job's folder and dies with this thread. Of a gang on several machines the first is a launcher, the others
// are its agents; they meet by a file in the job's folder. Used by one thread.
class AttemptProcesses final : public JobProcesses {
 public:
  // Each process carries the `marks` in its environment.
  AttemptProcesses(SchedulerPlace place, std::string machine, std::vector<std::string> marks)
      : place_(std::move(place)), machine_(std::move(machine)), marks_(std::move(marks)) {}

  void start(const StartAttempt& start) override;
  void interrupt(const JobAttempt& which) override;
  void kill(const JobAttempt& which) override;

  void add_to(std::vector<pollfd>& polls) const;
  std::vector<AttemptEnded> reap();      // Those that have ended, with all that they started.
  std::vector<AttemptRate> new_rates();  // As their metrics say, of those with a new row.

 private:
  struct Attempt {
    RankProcess process;
    bool leads = true;  // The parts of a gang on other machines follow the first.
    std::string log;
    std::string mark;
    std::string meeting;  // Of a gang.
    std::string metrics;
    std::string last_row;  // Of its metrics, as far as it was looked at.
  };

  SchedulerPlace place_;
  std::string machine_;
  std::vector<std::string> marks_;
  std::map<JobAttempt, Attempt> attempts_;
};

}  // namespace hocket
