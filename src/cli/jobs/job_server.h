#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "jobs/job_coordinator.h"
#include "net/framed_stream.h"
#include "net/listener.h"
#include "net/liveness.h"

namespace hocket {

// The coordinator of the jobs on the network: agents, and clients with a request each. Used by one thread,
// which calls serve_once() again and again. A store that cannot write is logged and tried again.
class JobServer final : public JobOutbox {
 public:
  // `answer` makes the answer to a client's request; it throws nothing.
  using Answer = std::function<std::string(JobCoordinator& coordinator, const std::string& request)>;

  JobServer(JobStore& store, const JobCoordinatorOptions& options, Listener listener, const JobKey& key,
            Log log, Answer answer);

  Endpoint endpoint() const { return listener_.endpoint(); }
  void serve_once(std::vector<pollfd> others, TimePoint until);

  void send(int machine, const JobMessage& message) override;

 private:
  struct Line {
    FramedStream stream;
    bool is_agent;
    int machine = -1;  // Once its agent has said who it is.
    Liveness liveness;
    bool is_answered = false;
  };

  void take(Accepted accepted, TimePoint now);
  bool hear(Line& line, TimePoint now);  // False when it is to be closed.
  void hear_agent(Line& line, const JobMessage& message);
  void welcome(Line& line, const AgentArrives& agent);
  void say_once(const std::string& trouble);

  Listener listener_;
  JobKey key_;
  Log log_;
  Answer answer_;
  std::map<std::uint64_t, Line> lines_;
  std::uint64_t next_line_ = 0;
  std::string trouble_;  // Said already.
  JobCoordinator coordinator_;
};

}  // namespace hocket
