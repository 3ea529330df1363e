#include "ps/node_network.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace hocket {
namespace {

constexpr Seconds kCallTimeout{0.5};
constexpr Seconds kLongestPassage{3600.0};
constexpr std::size_t kMaxNodeFrame = (std::size_t{1} << 32) - 1;  // A snapshot of a range.

Endpoint place_to_listen(const NodeNetworkOptions& options) {
  if (options.me.kind == NodeKind::coordinator) return options.coordinator;
  return {local_address_towards(options.coordinator.address), 0};
}

// Where `bytes` lie in `memory`.
std::optional<std::uint64_t> place_in(std::span<const std::byte> memory, std::span<const std::byte> bytes) {
  const bool is_inside =
      bytes.data() >= memory.data() && bytes.data() + bytes.size() <= memory.data() + memory.size();
  if (!is_inside || memory.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(bytes.data() - memory.data());
}

Seconds seconds_of(TimePoint time) { return time.time_since_epoch(); }

// Links that are emulated may be faster than a millisecond.
timespec time_until(TimePoint time) {
  const auto wait = std::max(std::chrono::nanoseconds(time - Clock::now()), std::chrono::nanoseconds(0));
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(wait);
  return {whole.count(), (wait - whole).count()};
}

std::shared_ptr<const MappedMemory> open_memory(const Introduction& introduction) {
  try {
    return std::make_shared<const MappedMemory>(
        MappedMemory::open(introduction.pid, introduction.memory_fd, introduction.memory_bytes));
  } catch (const Error& error) {
    throw NetError("cannot map its memory: {}", error.what());
  }
}

}  // namespace

NodeNetwork::NodeNetwork(const NodeNetworkOptions& options, Log log)
    : options_(options), log_(std::move(log)) {
  if (options.shared_bytes > 0) memory_ = MappedMemory::create(options.shared_bytes);
  if (is_listening()) {
    ListenerOptions listening;
    listening.rank = options.me.index;
    listening.plaintext = options.plaintext;
    listener_.emplace(listen_at(place_to_listen(options)), options.key, listening, log_);
  }
}

bool NodeNetwork::is_listening() const {
  return options_.me.kind == NodeKind::coordinator || options_.me.kind == NodeKind::server;
}

std::uint64_t NodeNetwork::destination_of(const std::byte* address) const {
  const auto place = place_in(memory_.bytes(), {address, 1});
  HOCKET_CHECK(place.has_value(), "no destination outside the shared memory");
  return 1 + *place;
}

void NodeNetwork::send(const NodeId& to, const Message& message) {
  if (Line* line = find_line(to)) return write(to, *line, message);
  if (Calling* calling = call_to(to))
    calling->waiting.push_back(encode_for(to, calling->shares_host, message, nullptr));
}

NodeNetwork::Line* NodeNetwork::find_line(const NodeId& node) {
  if (const auto called = called_.find(node); called != called_.end()) return &called->second;
  if (const auto accepted = accepted_.find(node); accepted != accepted_.end()) return &accepted->second;
  return nullptr;
}

// Never waits for the answer: the other end may be calling this one, and waiting, too.
NodeNetwork::Calling* NodeNetwork::call_to(const NodeId& node) {
  if (const auto calling = calls_.find(node); calling != calls_.end()) return &calling->second;
  const std::optional<Endpoint> endpoint = endpoint_of(node);
  if (!endpoint) return nullptr;
  Hello hello;
  hello.purpose = Purpose::node;
  hello.channel = static_cast<std::uint32_t>(options_.me.kind);
  hello.rank = options_.me.index;
  try {
    PendingCall call(*endpoint, options_.key, hello, options_.plaintext, after(kCallTimeout));
    const bool shares_host = is_within_host(call.fd());
    return &calls_.emplace(node, Calling{std::move(call), shares_host}).first->second;
  } catch (const std::exception&) {  // It is not there, or not yet: whoever waits for an answer asks again.
    return nullptr;
  }
}

void NodeNetwork::progress_calls(TimePoint now) {
  for (auto at = calls_.begin(); at != calls_.end();) {
    at = has_answered(at->first, at->second, now) ? calls_.erase(at) : std::next(at);
  }
}

// Or will never answer.
bool NodeNetwork::has_answered(const NodeId& node, Calling& calling, TimePoint now) {
  try {
    auto stream = calling.call.progress(now);
    if (!stream) return false;
    Line& line =
        called_
            .insert_or_assign(node, Line{FramedStream(std::move(stream), kMaxNodeFrame), calling.shares_host})
            .first->second;
    introduce(line);
    for (const std::vector<std::byte>& frame : calling.waiting) line.stream.send(frame);
  } catch (const std::exception&) {
  }
  return true;
}

std::optional<Endpoint> NodeNetwork::endpoint_of(const NodeId& node) const {
  if (node == kCoordinator) return options_.coordinator;
  const auto found = directory_.find(node);
  if (found == directory_.end()) return std::nullopt;
  return found->second;
}

void NodeNetwork::introduce(Line& line) {
  Introduction introduction;
  if (listener_) introduction.port = listener_->endpoint().port;
  introduction.host_id = this_host_id();
  introduction.pid = ::getpid();
  introduction.memory_fd = memory_.fd();
  introduction.memory_bytes = memory_.bytes().size();
  line.stream.send(encode(introduction));
}

// Values that go to the other end's memory are written there, and only the news of it travels; news that is
// repeated has none.
void NodeNetwork::write(const NodeId& to, Line& line, const Message& message) {
  ++traffic_.messages_sent;
  const auto* pulled = std::get_if<PullDone>(&message);
  if (pulled != nullptr && pulled->destination > 0 && line.memory != nullptr) {
    const std::span<std::byte> memory = line.memory->bytes();
    const std::uint64_t place = pulled->destination - 1;
    if (place > memory.size() || pulled->values.bytes.size() > memory.size() - place) return;
    std::copy(pulled->values.bytes.begin(), pulled->values.bytes.end(),
              memory.begin() + static_cast<std::ptrdiff_t>(place));
    traffic_.bytes_sent += pulled->values.bytes.size();
    PullDone news = *pulled;
    news.values = {};
    return line.stream.send(encode(frame_of(to, news, message)));
  }
  line.stream.send(encode_for(to, line.shares_host, message, &line.sent));
}

std::vector<std::byte> NodeNetwork::encode_for(const NodeId& to, bool shares_host, const Message& message,
                                               KnownIds* sent) {
  const PlaceOf place_of = [&](std::span<const std::byte> bytes) -> std::optional<std::uint64_t> {
    traffic_.bytes_sent += bytes.size();
    return shares_host ? place_in(memory_.bytes(), bytes) : std::nullopt;
  };
  return encode(frame_of(to, message, message), place_of, sent);
}

// Where links are emulated, with its passage, which takes as long as that of `whole`.
NodeFrame NodeNetwork::frame_of(const NodeId& to, const Message& message, const Message& whole) {
  const std::optional<Rank> from = rank_of(options_.me), rank = rank_of(to);
  if (!from || !rank) return message;
  const std::size_t bytes = encode(whole).size();  // With all that is shared or known.
  const auto passage = options_.emulation->reserve(*from, *rank, bytes, seconds_of(Clock::now()));
  return Delayed{passage.posted.count(), passage.carried.count(), bytes, message};
}

// Among the ranks between which links are emulated.
std::optional<Rank> NodeNetwork::rank_of(const NodeId& node) const {
  if (options_.emulation == nullptr) return std::nullopt;
  if (node.kind == NodeKind::worker) return node.index;
  if (node.kind == NodeKind::server) return options_.workers + node.index;
  return std::nullopt;
}

void NodeNetwork::hold(const NodeId& from, Delayed delayed) {
  const std::optional<Rank> sender = rank_of(from), me = rank_of(options_.me);
  if (!sender || !me) throw NetError("it delays messages, but no links are emulated here");
  const Seconds now = seconds_of(Clock::now());
  const LinkLedger::Passage passage{Seconds(delayed.posted), Seconds(delayed.carried)};
  Seconds due = options_.emulation->deliver(*sender, *me, delayed.bytes, passage, Seconds(0));
  if (!(due < now + kLongestPassage)) due = now + kLongestPassage;
  held_.emplace(TimePoint(std::chrono::duration_cast<Clock::duration>(due)),
                std::pair(from, std::move(delayed.message)));
}

void NodeNetwork::deliver_held(const Deliver& deliver) {
  while (!held_.empty() && held_.begin()->first <= Clock::now()) {
    const auto next = held_.extract(held_.begin());
    deliver(next.mapped().first, next.mapped().second);
  }
}

void NodeNetwork::poll(TimePoint until, const Deliver& deliver, int wake_fd) {
  std::vector<pollfd> polls{{wake_fd, POLLIN, 0}};
  if (listener_) {
    listener_->add_to(polls);
    until = listener_->next_deadline(until);
  }
  for (const auto& [node, calling] : calls_) {
    polls.push_back(calling.call.to_poll());
    until = std::min(until, calling.call.deadline());
  }
  for (const Lines* lines : {&called_, &accepted_}) {
    for (const auto& [node, line] : *lines) polls.push_back(line.stream.to_poll());
  }
  if (!held_.empty()) until = std::min(until, held_.begin()->first);
  const timespec wait = time_until(until);
  ::ppoll(polls.data(), polls.size(), &wait, nullptr);
  if (listener_) {
    for (Accepted& accepted : listener_->progress(Clock::now())) accept(std::move(accepted));
  }
  progress_calls(Clock::now());
  hear_all(called_, deliver);
  hear_all(accepted_, deliver);
  deliver_held(deliver);
}

void NodeNetwork::accept(Accepted accepted) {
  const Hello hello = accepted.hello;
  const bool makes_sense = hello.purpose == Purpose::node && hello.rank >= 0 &&
                           hello.channel <= static_cast<std::uint32_t>(NodeKind::recorder);
  if (!makes_sense) {
    log_(fmt::format("{} closed a connection that nobody expects", to_string(options_.me)));
    return;
  }
  const NodeId node{static_cast<NodeKind>(hello.channel), hello.rank};
  const bool shares_host = is_within_host(accepted.socket.get());
  accepted_.insert_or_assign(
      node, Line{FramedStream(answer(std::move(accepted), options_.key), kMaxNodeFrame), shares_host});
}

// Delivering may open lines, never end one: lines that have ended go when all is delivered.
void NodeNetwork::hear_all(Lines& lines, const Deliver& deliver) {
  std::vector<NodeId> nodes;
  nodes.reserve(lines.size());
  for (const auto& [node, line] : lines) nodes.push_back(node);
  for (const NodeId& node : nodes) {
    try {
      hear(node, lines.at(node), deliver);
    } catch (const StreamClosed&) {
      lines.erase(node);
    } catch (const NetError& error) {
      log_(fmt::format("{} closed the connection to {}: {}", to_string(options_.me), to_string(node),
                       error.what()));
      lines.erase(node);
    }
  }
}

void NodeNetwork::hear(const NodeId& from, Line& line, const Deliver& deliver) {
  line.stream.progress();
  while (auto bytes = line.stream.receive()) {
    const auto shared = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
    const Payload memory =
        line.memory == nullptr ? Payload() : Payload{line.memory->bytes(), line.memory, true};
    NodeFrame frame = decode_frame(shared, memory, &line.heard);
    if (const auto* message = std::get_if<Message>(&frame)) {
      deliver(from, *message);
    } else if (auto* delayed = std::get_if<Delayed>(&frame)) {
      hold(from, std::move(*delayed));
    } else if (const auto* introduction = std::get_if<Introduction>(&frame)) {
      meet(from, line, *introduction);
    } else if (from == kCoordinator) {
      for (const Address& each : std::get<Directory>(frame).addresses) {
        directory_[each.node] = {each.address, each.port};
      }
    }
  }
}

void NodeNetwork::meet(const NodeId& from, Line& line, const Introduction& introduction) {
  if (introduction.memory_bytes > 0 && line.shares_host && introduction.host_id == this_host_id()) {
    line.memory = open_memory(introduction);
  }
  if (options_.me.kind != NodeKind::coordinator) return;
  const std::string address = remote_endpoint(line.stream.to_poll().fd).address;
  if (introduction.port != 0) directory_[from] = {address, introduction.port};
  send_directory();
}

void NodeNetwork::send_directory() {
  Directory directory;
  directory.addresses.reserve(directory_.size());
  for (const auto& [node, endpoint] : directory_) {
    directory.addresses.push_back({node, endpoint.address, endpoint.port});
  }
  const std::vector<std::byte> frame = encode(directory);
  for (auto& [node, line] : accepted_) line.stream.send(frame);
}

bool NodeNetwork::flush(TimePoint deadline) {
  while (!calls_.empty() && Clock::now() < deadline) poll(deadline, [](const NodeId&, const Message&) {});
  bool all = calls_.empty();
  for (Lines* lines : {&called_, &accepted_}) {
    for (auto& [node, line] : *lines) all = line.stream.flush(deadline) && all;
  }
  return all;
}

}  // namespace hocket
