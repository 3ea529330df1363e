#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "net/call.h"
#include "net/emulation.h"
#include "net/framed_stream.h"
#include "net/job.h"
#include "net/listener.h"
#include "net/mapped_memory.h"
#include "net/transport.h"
#include "ps/message_wire.h"

namespace hocket {

struct NodeNetworkOptions {
  NodeId me;
  JobKey key = {};
  Endpoint coordinator;             // Where it listens, also after a restart.
  bool plaintext = false;           // Between hosts: authenticated, not encrypted.
  std::size_t shared_bytes = 0;     // Of memory().
  LinkLedger* emulation = nullptr;  // Delays messages between workers and servers, whose ranks follow those
  int workers = 0;                  // of so many workers; outlives the network.
};

// The nodes of a job on real connections: every one of them calls the coordinator, from which it learns where
// the servers listen. What cannot be delivered is lost, as an Outbox may. Numbers that lie in memory() do not
// travel to servers of this host, which read and write them where they are. Used by one thread.
class NodeNetwork final : public Outbox {
 public:
  using Deliver = std::function<void(const NodeId& from, const Message& message)>;

  // Throws NetError when the coordinator cannot listen where it should.
  NodeNetwork(const NodeNetworkOptions& options, Log log);

  void send(const NodeId& to, const Message& message) override;
  // Waits for something to come, or for `wake_fd` to become readable, at most until then, and delivers all
  // that is here.
  void poll(TimePoint until, const Deliver& deliver, int wake_fd = -1);
  bool flush(TimePoint deadline);  // Sends all that is queued, before the end; false at the deadline.

  std::span<std::byte> memory() const { return memory_.bytes(); }
  std::uint64_t destination_of(const std::byte* address) const;  // As PullRequest::destination, in memory().
  bool has_line_to(const NodeId& node) const { return called_.contains(node) || accepted_.contains(node); }
  const Traffic& traffic() const { return traffic_; }

 private:
  struct Line {
    FramedStream stream;
    bool shares_host = false;
    std::shared_ptr<const MappedMemory> memory = {};  // The other end's.
    KnownIds sent{}, heard{};
  };
  using Lines = std::map<NodeId, Line>;
  // A line that is not there yet, and what is to be sent as soon as it is.
  struct Calling {
    PendingCall call;
    bool shares_host = false;
    std::vector<std::vector<std::byte>> waiting{};
  };

  bool is_listening() const;
  Line* find_line(const NodeId& node);
  Calling* call_to(const NodeId& node);
  void progress_calls(TimePoint now);
  bool has_answered(const NodeId& node, Calling& calling, TimePoint now);
  std::vector<std::byte> encode_for(const NodeId& to, bool shares_host, const Message& message,
                                    KnownIds* sent);
  NodeFrame frame_of(const NodeId& to, const Message& message, const Message& whole);
  std::optional<Rank> rank_of(const NodeId& node) const;
  void hold(const NodeId& from, Delayed delayed);
  void deliver_held(const Deliver& deliver);
  std::optional<Endpoint> endpoint_of(const NodeId& node) const;
  void introduce(Line& line);
  void write(const NodeId& to, Line& line, const Message& message);
  void accept(Accepted accepted);
  void hear_all(Lines& lines, const Deliver& deliver);
  void hear(const NodeId& from, Line& line, const Deliver& deliver);
  void meet(const NodeId& from, Line& line, const Introduction& introduction);
  void send_directory();

  NodeNetworkOptions options_;
  Log log_;
  MappedMemory memory_;
  std::optional<Listener> listener_;
  std::map<NodeId, Endpoint> directory_;
  std::map<NodeId, Calling> calls_;
  Lines called_;                                               // By this node,
  Lines accepted_;                                             // and by others.
  std::multimap<TimePoint, std::pair<NodeId, Message>> held_;  // By when links have delivered them.
  Traffic traffic_;
};

}  // namespace hocket
