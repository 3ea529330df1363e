#pragma once

#include <map>

#include "jobs/coordinator_thread.h"
#include "net/framed_stream.h"
#include "net/listener.h"
#include "net/liveness.h"

namespace hocket {

// The coordinator of the jobs on the network: agents, and clients with a request each. Used by one thread,
// which calls serve_once() again and again; it never waits for the disk, so that agents hear from it and
// questions are answered at any time.
class JobServer {
 public:
  JobServer(CoordinatorThread& coordinator, Listener listener, const JobKey& key)
      : coordinator_(coordinator), listener_(std::move(listener)), key_(key) {}

  Endpoint endpoint() const { return listener_.endpoint(); }
  void serve_once(std::vector<pollfd> others, TimePoint until);

 private:
  struct Line {
    FramedStream stream;
    bool is_agent;
    Liveness liveness;
    bool has_asked = false;   // A client asks once.
    bool is_waiting = false;  // For its answer.
  };

  void take(Accepted accepted, TimePoint now);
  bool hear(LineNumber number, Line& line, TimePoint now);  // False when it is to be closed.
  void hear_agent(LineNumber number, const JobMessage& message);
  void hear_client(LineNumber number, Line& line, std::string request);
  void pass_on(SaidOnLine said, TimePoint now);
  void close(LineNumber number);

  CoordinatorThread& coordinator_;
  Listener listener_;
  JobKey key_;
  std::map<LineNumber, Line> lines_;
  LineNumber next_line_ = 0;
};

}  // namespace hocket
