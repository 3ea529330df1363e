#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "net/health.h"
#include "net/job.h"

namespace hocket {

// What ranks and the coordinator say to each other.
struct Join {  // From a rank, first of all.
  std::int32_t world_size = 0;
  Member member;
};
struct Welcome {  // To every rank, once all have joined.
  std::vector<Member> members;
  Member coordinator{};  // Its process.
};
struct Rejected {  // To a rank: the meeting fails, and why.
  std::string why;
};
struct Beat {};     // Both ways: I am alive.
struct Goodbye {};  // From a rank: I end because I am done.
struct Failed {     // Both ways: the first failure that the sender knows of.
  Health::Failure failure;
};
using ControlMessage = std::variant<Join, Welcome, Rejected, Beat, Goodbye, Failed>;

// The body of a frame on the wire. decode() throws NetError for bytes that no encode() has made.
std::vector<std::byte> encode(const ControlMessage& message);
ControlMessage decode(std::span<const std::byte> bytes);

}  // namespace hocket
