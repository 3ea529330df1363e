#include "train/server_link.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "net/log.h"
#include "ps/table_store.h"

namespace hocket {
namespace {

constexpr Seconds kMeeting{60};
constexpr Seconds kAnswer{30};
constexpr Seconds kLinkLook{0.05};
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

std::size_t row_bytes(const RangeSpec& spec) {
  return static_cast<std::size_t>(spec.width) * size_of(spec.dtype);
}

}  // namespace

ServerLink::ServerLink(const NodePlace& place, Session& session, const ServerLinkOptions& options)
    : session_(session),
      ranges_(model_ranges(session.program().layouts(), options.tables, options.optimizer, options.servers)),
      network_(network_at(place), log_to_stderr()),
      client_(place.me, network_, timing_at(place)),
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
    pump(after(kLinkLook));
  }
}

void ServerLink::meet() {
  wait_for([&] { return client_.view().epoch > 0; }, kMeeting, "not all workers and servers have come");
}

// The bytes of a dense range, piece by piece.
Payload ServerLink::values_of(const ModelRange& range) {
  const StepMemory& memory = session_.memory();
  const Arena& arena = range.role == Role::buffer ? memory.buffers : memory.parameters;
  auto values = std::make_shared<std::vector<std::byte>>(range.bytes);
  for (const RangePiece& piece : range.pieces) {
    std::memcpy(values->data() + piece.at, arena.data() + piece.offset, piece.bytes);
  }
  return {*values, values};
}

void ServerLink::give(std::int64_t step) {
  for (const ModelRange& range : ranges_) {
    Init init{range.spec, step, {}, {}};
    if (range.is_table()) {
      init.values = Payload::copy_of(table_of(range, step > 0));
    } else {
      init.values = values_of(range);
      if (step > 0 && range.role == Role::parameter) init.state = Payload::copy_of(state_of(range));
    }
    client_.change(range.id, std::move(init), Clock::now());
  }
  const auto is_done = [&] {
    return std::all_of(ranges_.begin(), ranges_.end(),
                       [&](const ModelRange& range) { return client_.is_done(range.id); });
  };
  wait_for(is_done, kAnswer, "the servers have not taken the parameters");
}

// Calls `copy` with each place in the state of a dense range, which has one slot after the other, and the
// bytes of the session's state that belong there.
template <typename Copy>
void ServerLink::for_each_state(const ModelRange& range, const Copy& copy) {
  const StepLayouts& layouts = session_.program().layouts();
  const std::vector<std::string> slots = slots_of(layouts.state);
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    for (const RangePiece& piece : range.pieces) {
      for (const ArenaLayout::Entry& entry : layouts.parameters.entries()) {
        const std::size_t begin = std::max(entry.offset, piece.offset);
        const std::size_t end = std::min(entry.offset + entry.bytes(), piece.offset + piece.bytes);
        if (begin >= end) continue;
        const std::size_t own = layouts.state.at(slots[slot] + entry.name).offset + (begin - entry.offset);
        copy(slot * range.bytes + piece.at + (begin - piece.offset),
             session_.memory().state.bytes().subspan(own, end - begin));
      }
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

// A table in the session: its values, then each of the optimizer's slots.
std::vector<std::span<std::byte>> ServerLink::parts_of(const ModelRange& range) {
  const StepLayouts& layouts = session_.program().layouts();
  const ArenaLayout::Entry& values = layouts.parameters.at(range.table);
  std::vector<std::span<std::byte>> parts{
      session_.memory().parameters.bytes().subspan(values.offset, values.bytes())};
  for (const std::string& slot : slots_of(layouts.state)) {
    const ArenaLayout::Entry& entry = layouts.state.at(slot + range.table);
    parts.push_back(session_.memory().state.bytes().subspan(entry.offset, entry.bytes()));
  }
  return parts;
}

// The rows of the range's server, but for those that its table would begin with anyway.
std::vector<std::byte> ServerLink::table_of(const ModelRange& range, bool with_state) {
  const std::vector<std::span<std::byte>> parts = parts_of(range);
  const std::size_t row = row_bytes(range.spec);
  std::vector<std::uint64_t> ids;
  std::vector<std::byte> values, state;
  for (std::size_t at = 0; at < parts.front().size(); at += row) {
    if (server_of_id(at / row, options_.servers) != range.server) continue;
    const bool is_zero = std::all_of(parts.begin(), parts.end(), [&](std::span<const std::byte> part) {
      return std::all_of(&part[at], &part[at] + row, [](std::byte byte) { return byte == std::byte{0}; });
    });
    if (is_zero && range.spec.spread == 0) continue;
    ids.push_back(at / row);
    values.insert(values.end(), &parts[0][at], &parts[0][at] + row);
    for (std::size_t p = 1; p < parts.size() && with_state; ++p)
      state.insert(state.end(), &parts[p][at], &parts[p][at] + row);
  }
  return encode_table(range.spec, ids, values, state);
}

void ServerLink::take_table(const ModelRange& range, const PullDone& pulled) {
  const std::vector<std::span<std::byte>> parts = parts_of(range);
  const std::size_t row = row_bytes(range.spec);
  const std::size_t rows = parts.front().size() / row;
  decode_table(range.spec, pulled.state.bytes, [&](std::uint64_t id, std::span<const std::byte> payload) {
    if (id >= rows) throw NetError("{} has no row {}: it has {}", range.table, id, rows);
    for (std::size_t p = 0; p < parts.size(); ++p)
      std::memcpy(&parts[p][id * row], payload.data() + p * row, row);
  });
}

void ServerLink::ask(std::int64_t batch) {
  is_asking_ = true;
  pulled_.clear();
  for (const ModelRange& range : ranges_) {
    client_.pull(range.id, batch, {}, 0, true, Clock::now());
  }
}

std::optional<RangeProgress> ServerLink::take() {
  bool all = is_asking_;
  for (const ModelRange& range : ranges_) {
    if (std::optional<PullDone> pulled = client_.take_pull(range.id)) pulled_[range.id] = std::move(*pulled);
    all = all && pulled_.contains(range.id);
  }
  if (!all || !are_in_step()) return std::nullopt;
  is_asking_ = false;
  for (const ModelRange& range : ranges_) take_range(range, pulled_.at(range.id));
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
  if (range.is_table()) return take_table(range, pulled);
  const std::size_t state =
      range.role == Role::parameter ? slots_of(session_.program().layouts().state).size() * range.bytes : 0;
  if (pulled.values.bytes.size() != range.bytes || pulled.state.bytes.size() < state) {
    throw NetError("range {} came with {} bytes and {} of state instead of {} and {}", pulled.range,
                   pulled.values.bytes.size(), pulled.state.bytes.size(), range.bytes, state);
  }
  const StepMemory& memory = session_.memory();
  const Arena& arena = range.role == Role::buffer ? memory.buffers : memory.parameters;
  for (const RangePiece& piece : range.pieces) {
    std::memcpy(arena.data() + piece.offset, pulled.values.bytes.data() + piece.at, piece.bytes);
  }
  if (state == 0) return;
  for_each_state(range, [&](std::size_t from, std::span<std::byte> to) {
    std::memcpy(to.data(), pulled.state.bytes.data() + from, to.size());
  });
}

void ServerLink::ask_for_status() {
  const View& view = client_.view();
  const RangeId first = ranges_.front().id;
  network_.send(server_node(view.chains.at(static_cast<std::size_t>(first)).servers.front()),
                StatusRequest{first, kRecorder});
}

void ServerLink::end() {
  network_.send(kCoordinator, Stop{});
  network_.flush(after(kFarewell));
}

}  // namespace hocket
