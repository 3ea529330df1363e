#pragma once

#include "net/control_message.h"
#include "net/framed_stream.h"
#include "net/job.h"
#include "net/socket.h"

namespace hocket {

// Where the coordinator listens and what opens it.
struct MeetingPlace {
  Endpoint coordinator;  // Numeric.
  JobKey key = {};
};

struct JoinRequest {
  Rank rank = 0;
  int world_size = 1;
  bool plaintext = false;
  TimePoint deadline;
};

// A connection to the coordinator, authenticated and, between hosts, encrypted. One try. Throws NetError when
// nothing listens there, and Refused by what does.
FramedStream call_coordinator(const MeetingPlace& place, const JoinRequest& request);

// Sends the Member of this rank and waits for the welcome of all. Throws NetError with what the coordinator
// says.
Welcome join(FramedStream& coordinator, const Member& member, const JoinRequest& request);

}  // namespace hocket
