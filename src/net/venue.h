#pragma once

#include <functional>
#include <memory>

#include "net/coordinator_server.h"
#include "net/environment.h"
#include "net/exchange.h"
#include "net/join.h"
#include "net/liveness.h"
#include "net/log.h"
#include "net/meeting_file.h"

namespace hocket {

struct VenueOptions {
  Seconds timeout{60.0};
  HeartbeatTiming heartbeat{};
  bool plaintext = false;
  Exchange exchange{};
  Log log;
};

// Where this rank goes to meet the others. Rank 0 brings the coordinator along unless a launcher has it.
struct Venue {
  std::unique_ptr<CoordinatorServer> server;  // Only where this process has it.
  std::unique_ptr<MeetingFile> file;          // To be removed after the meeting.
  // Asked again before every try: a file may have been left over from another job.
  std::function<std::optional<MeetingPlace>()> place;
  Rank coordinator_rank = -1;
};

// Throws ConfigError when key or address are not to be had.
Venue find_venue(const Environment& environment, const VenueOptions& options);

}  // namespace hocket
