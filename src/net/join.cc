#include "net/join.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "net/call.h"
#include "net/control_message.h"
#include "net/tls_stream.h"

namespace hocket {
namespace {

std::unique_ptr<Stream> open_stream(const MeetingPlace& place, const JoinRequest& request) {
  Hello hello;
  hello.purpose = Purpose::control;
  hello.rank = request.rank;
  auto stream = call(place.coordinator, place.key, hello, request.plaintext, request.deadline);
  auto* encrypted = dynamic_cast<TlsStream*>(stream.get());
  while (encrypted != nullptr && !encrypted->establish()) {
    if (!wait_for(stream->fd(), POLLIN, request.deadline)) throw NetError("no answer to the TLS handshake");
  }
  return stream;
}

}  // namespace

FramedStream call_coordinator(const MeetingPlace& place, const JoinRequest& request) {
  try {
    return FramedStream(open_stream(place, request));
  } catch (const StreamClosed& closed) {
    throw Refused(fmt::format("{}: it has another key, version or job", closed.what()));
  }
}

Welcome join(FramedStream& coordinator, const Member& member, const JoinRequest& request) {
  coordinator.send(encode(Join{request.world_size, member}));
  try {
    while (true) {
      coordinator.progress();
      while (const auto bytes = coordinator.receive()) {
        ControlMessage message = decode(*bytes);
        if (const auto* rejected = std::get_if<Rejected>(&message)) {
          throw NetError("rank {}: the job cannot start: {}", request.rank, rejected->why);
        }
        auto* welcome = std::get_if<Welcome>(&message);
        if (welcome == nullptr) continue;
        if (static_cast<int>(welcome->members.size()) == request.world_size) return std::move(*welcome);
        throw NetError("rank {}: the job has {} ranks, not {}", request.rank, welcome->members.size(),
                       request.world_size);
      }
      const pollfd line = coordinator.to_poll();
      if (!wait_for(line.fd, line.events, request.deadline)) {
        throw NetError("rank {}: the coordinator did not bring the ranks together in time", request.rank);
      }
    }
  } catch (const StreamClosed& closed) {
    throw NetError("rank {}: the coordinator ended while the ranks met: {}", request.rank, closed.what());
  }
}

}  // namespace hocket
