#pragma once

#include <memory>
#include <string>

#include "net/clock.h"
#include "net/environment.h"
#include "net/exchange.h"
#include "net/health.h"
#include "net/job.h"
#include "net/liveness.h"
#include "net/log.h"
#include "net/mpi_plugin.h"
#include "net/stream.h"
#include "net/tcp_connector.h"

namespace hocket {

struct MeetingOptions {
  Seconds timeout{60.0};  // For all ranks to come together.
  HeartbeatTiming heartbeat{};
  TcpOptions tcp{};
  bool plaintext = false;  // In addition to what the environment says.
  Exchange exchange{};     // When there is one, key and coordinator's address travel by it.
  Log log = log_to_stderr();
};

// This process as a rank of its job, from the meeting until it is destroyed. Whatever uses the job, its
// health or its connector ends before it. Destroying it is a goodbye when all is well; while an exception
// unwinds, it tells the other ranks that this one failed.
class Membership {
 public:
  virtual ~Membership() = default;

  virtual const Job& job() const = 0;
  virtual Health& health() = 0;
  virtual Connector& connector() = 0;           // TCP; of a job of one rank, one that connects nobody.
  virtual MpiPlugin* mpi() { return nullptr; }  // Where mpirun started the ranks and Hocket has its library.
};

// Meets the other ranks of the job. Under mpirun, and without an exchange, MPI is started first if Hocket's
// library for it is there, and the ranks meet by it. Throws ConfigError when the environment does not say
// how, and NetError, which names who is missing, when the ranks do not come together.
std::unique_ptr<Membership> join_job(const Environment& environment, const MeetingOptions& options = {});

// The same for how this process was started; a job key in the environment is scrubbed from it.
std::unique_ptr<Membership> join_job(const MeetingOptions& options = {});

}  // namespace hocket
