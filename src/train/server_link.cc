#include "train/server_link.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "net/log.h"

namespace hocket {
namespace {

constexpr Seconds kMeeting{60};
constexpr Seconds kAnswer{30};
constexpr Seconds kLook{0.05};
constexpr Seconds kFarewell{1};

// The optimizer's slots, as the names of its state begin: "mean/", "variance/".
std::vector<std::string> slots_of(const ArenaLayout& state) {
  std::vector<std::string> slots;
  for (const ArenaLayout::Entry& entry : state.entries()) {
    std::string slot = entry.name.substr(0, entry.name.find('/') + 1);
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(std::move(slot));
  }
  return slots;
}

}  // namespace

ServerLink::ServerLink(const NodePlace& place, Session& session, const ServerLinkOptions& options)
    : session_(session),
      ranges_(model_ranges(session.program().layouts(), options.optimizer, options.servers)),
      network_({place.me, place.key, place.coordinator, place.plaintext, 0}, log_to_stderr()),
      client_(place.me, network_),
      options_(options) {
  for (ModelRange& range : ranges_) range.spec.rate = options.rate;
}

void ServerLink::pump(TimePoint until) {
  const auto deliver = [&](const NodeId& from, const Message& message) {
    if (const auto* status = std::get_if<RangeStatus>(&message)) {
      status_ = *status;
    } else {
      client_.on_message(from, message, Clock::now());
    }
  };
  network_.poll(std::min(until, client_.next_deadline()), deliver);
  client_.on_time(Clock::now());
}

template <typename Ready>
void ServerLink::wait_for(const Ready& ready, Seconds patience, const char* complaint) {
  const TimePoint deadline = after(patience);
  while (!ready()) {
    if (Clock::now() > deadline) throw NetError("{} within {} s", complaint, patience.count());
    pump(after(kLook));
  }
}

template <typename Body>
void ServerLink::for_each_range(const Body& body) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].bytes > 0) body(static_cast<RangeId>(i), ranges_[i]);
  }
}

void ServerLink::meet() {
  wait_for([&] { return client_.view().epoch > 0; }, kMeeting, "not all workers and servers have come");
}

std::span<std::byte> ServerLink::bytes_of(const ModelRange& range) {
  const StepMemory& memory = session_.memory();
  const Arena& arena = range.role == Role::buffer ? memory.buffers : memory.parameters;
  return arena.bytes().subspan(range.offset, range.bytes);
}

void ServerLink::give(std::int64_t step) {
  for_each_range([&](RangeId id, const ModelRange& range) {
    Init init{range.spec, step, Payload::copy_of(bytes_of(range)), {}};
    if (step > 0 && range.role == Role::parameter) init.state = Payload::copy_of(state_of(range));
    client_.change(id, std::move(init), Clock::now());
  });
  const auto is_done = [&] {
    bool all = true;
    for_each_range([&](RangeId id, const ModelRange&) { all = all && client_.is_done(id); });
    return all;
  };
  wait_for(is_done, kAnswer, "the servers have not taken the parameters");
}

// Calls `copy` with each place in the state of a range, which has one slot after the other, and the bytes of
// the session's state that belong there.
template <typename Copy>
void ServerLink::for_each_state(const ModelRange& range, const Copy& copy) {
  const StepLayouts& layouts = session_.program().layouts();
  const std::vector<std::string> slots = slots_of(layouts.state);
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    for (const ArenaLayout::Entry& entry : layouts.parameters.entries()) {
      const std::size_t begin = std::max(entry.offset, range.offset);
      const std::size_t end = std::min(entry.offset + entry.bytes(), range.offset + range.bytes);
      if (begin >= end) continue;
      const std::size_t own = layouts.state.at(slots[slot] + entry.name).offset + (begin - entry.offset);
      copy(slot * range.bytes + (begin - range.offset),
           session_.memory().state.bytes().subspan(own, end - begin));
    }
  }
}

std::vector<std::byte> ServerLink::state_of(const ModelRange& range) {
  std::vector<std::byte> state(slots_of(session_.program().layouts().state).size() * range.bytes);
  for_each_state(range, [&](std::size_t at, std::span<const std::byte> own) {
    std::copy(own.begin(), own.end(), state.begin() + static_cast<std::ptrdiff_t>(at));
  });
  return state;
}

void ServerLink::ask(std::int64_t batch) {
  is_asking_ = true;
  pulled_.clear();
  for_each_range([&](RangeId id, const ModelRange&) { client_.pull(id, batch, {}, 0, true, Clock::now()); });
}

std::optional<RangeProgress> ServerLink::take() {
  bool all = is_asking_;
  for_each_range([&](RangeId id, const ModelRange&) {
    if (std::optional<PullDone> pulled = client_.take_pull(id)) pulled_[id] = std::move(*pulled);
    all = all && pulled_.contains(id);
  });
  if (!all || !are_in_step()) return std::nullopt;
  is_asking_ = false;
  for_each_range([&](RangeId id, const ModelRange& range) { take_range(range, pulled_.at(id)); });
  return pulled_.begin()->second.progress;
}

// Servers that were asked too late have answered with what they had. Asked for a batch that none of them has
// done, they answer in step.
bool ServerLink::are_in_step() {
  std::int64_t lowest = pulled_.begin()->second.progress.version, highest = lowest;
  for (const auto& [id, pulled] : pulled_) {
    lowest = std::min(lowest, pulled.progress.version);
    highest = std::max(highest, pulled.progress.version);
  }
  if (lowest == highest || !options_.is_in_step) return true;
  ask(std::min(highest + margin_, options_.rate.total_steps));
  margin_ *= 4;
  return false;
}

RangeProgress ServerLink::wait_and_take() {
  std::optional<RangeProgress> progress;
  const auto is_here = [&] { return (progress = take()).has_value(); };
  wait_for(is_here, kAnswer, "the servers have not sent the parameters");
  return *progress;
}

void ServerLink::take_range(const ModelRange& range, const PullDone& pulled) {
  const std::span<std::byte> own = bytes_of(range);
  const std::size_t state =
      range.role == Role::parameter ? slots_of(session_.program().layouts().state).size() * range.bytes : 0;
  if (pulled.values.bytes.size() != own.size() || pulled.state.bytes.size() < state) {
    throw NetError("range {} came with {} bytes and {} of state instead of {} and {}", pulled.range,
                   pulled.values.bytes.size(), pulled.state.bytes.size(), own.size(), state);
  }
  std::memcpy(own.data(), pulled.values.bytes.data(), own.size());
  if (state == 0) return;
  for_each_state(range, [&](std::size_t from, std::span<std::byte> to) {
    std::memcpy(to.data(), pulled.state.bytes.data() + from, to.size());
  });
}

void ServerLink::ask_for_status() {
  const View& view = client_.view();
  network_.send(server_node(view.chains.at(0).servers.front()), StatusRequest{0, kRecorder});
}

void ServerLink::end() {
  network_.send(kCoordinator, Stop{});
  network_.flush(after(kFarewell));
}

}  // namespace hocket
