#include "collective/direct.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.h"

namespace hocket {

// What a rank says on the board. Two sets of slots alternate: a rank that writes its slot again has seen
// everyone say the next thing, so all have read it.
struct Direct::Slot {
  std::atomic<std::uint64_t> sequence;
  Label label;
  std::uint64_t place;
};

namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kSlotHeader = 64;
constexpr std::size_t kMostOnBoard = 8192;  // Beyond this, sharing the work of a sum pays for a second phase.

}  // namespace

Direct::Direct(Transport& transport, SharedMemory& memory) : transport_(transport), memory_(memory) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  static_assert(sizeof(Slot) <= kSlotHeader);
  slot_bytes_ = std::min(memory.board().size() / (2 * ranks) / 64 * 64, kSlotHeader + kMostOnBoard);
  HOCKET_CHECK(slot_bytes_ >= kSlotHeader, "{} ranks do not fit the board", ranks);
  small_bytes_ = slot_bytes_ - kSlotHeader;
  peers_.resize(ranks);
  sources_.resize(ranks);
  targets_.resize(ranks);
}

Direct::Slot& Direct::slot(Rank rank, std::uint64_t sequence) const {
  const std::size_t index = (sequence % 2) * peers_.size() + static_cast<std::size_t>(rank);
  return *reinterpret_cast<Slot*>(memory_.board().data() + index * slot_bytes_);
}

std::byte* Direct::payload(Rank rank, std::uint64_t sequence) const {
  return reinterpret_cast<std::byte*>(&slot(rank, sequence)) + kSlotHeader;
}

void Direct::publish(const Label& label, std::uint64_t place) {
  Slot& mine = slot(transport_.rank(), sequence_);
  mine.label = label;
  mine.place = place;
  mine.sequence.store(sequence_, std::memory_order_release);
}

void Direct::await(Rank rank, const Label& label) {
  Slot& theirs = slot(rank, sequence_);
  transport_.wait_until(rank, label,
                        [&] { return theirs.sequence.load(std::memory_order_acquire) == sequence_; });
  if (theirs.label == label) [[likely]]
    return;
  const Rank me = transport_.rank_in_job(transport_.rank());
  const Rank other = transport_.rank_in_job(rank);
  transport_.health().report({-1, fmt::format("rank {} called {}, rank {} called {}", me, text_of(label),
                                              other, text_of(theirs.label))});
  throw NetError("rank {}: {}", me, transport_.health().failure().what);
}

void Direct::await_all(const Label& label) {
  for (Rank rank = 0; rank < transport_.size(); ++rank) {
    if (rank != transport_.rank()) await(rank, label);
  }
}

void Direct::meet(const Label& label) {
  ++sequence_;
  publish(label, 0);
  await_all(label);
}

void Direct::reach(const Label& label, std::uint64_t place) {
  ++sequence_;
  publish(label, place);
  await_all(label);
  for (Rank rank = 0; rank < transport_.size(); ++rank) {
    peers_[static_cast<std::size_t>(rank)] =
        memory_.at(rank, rank == transport_.rank() ? place : slot(rank, sequence_).place);
  }
}

bool Direct::is_small(const Operation& operation) const {
  return operation.collective == Collective::all_reduce &&
         operation.count * operation.element_bytes() <= small_bytes_;
}

void Direct::run(const Plan& plan, const Operation& operation, const Label& label) {
  if (operation.collective == Collective::barrier) {
    meet(label);
  } else if (is_small(operation)) {
    run_small(operation, label);
  } else {
    run_large(plan, operation, label);
  }
}

void Direct::count(std::size_t messages, std::size_t bytes) {
  Traffic& traffic = transport_.traffic();
  traffic.messages_sent += messages;
  traffic.bytes_sent += bytes;
  traffic.messages_received += messages;
  traffic.bytes_received += bytes;
}

void Direct::run_small(const Operation& operation, const Label& label) {
  const std::size_t bytes = operation.count * operation.element_bytes();
  ++sequence_;
  std::memcpy(payload(transport_.rank(), sequence_), operation.data, bytes);
  publish(label, 0);
  await_all(label);
  for (Rank rank = 0; rank < transport_.size(); ++rank) {
    sources_[static_cast<std::size_t>(rank)] = payload(rank, sequence_);
  }
  fold(fold_of(operation.reduction), operation.dtype, sources_, {&operation.data, 1}, operation.count);
  const std::size_t others = peers_.size() - 1;
  if (bytes > 0) count(others, others * bytes);
  ++transport_.traffic().rounds;
}

// The bytes [0, count) of every rank's `data` (all_to_all: `input`) become reachable; then each rank does its
// part.
void Direct::run_large(const Plan& plan, const Operation& operation, const Label& label) {
  const bool from_input = operation.collective == Collective::all_to_all;
  const std::size_t elements = from_input ? plan.input_count : operation.count;
  const std::size_t bytes = elements * operation.element_bytes();
  const std::byte* source = from_input ? operation.input : operation.data;

  Operation staged = operation;
  auto place = memory_.place_of(source, bytes);
  if (bytes == 0) place = 0;
  if (!place) {
    std::byte* copy = stage(bytes);
    std::memcpy(copy, source, bytes);
    if (!from_input) staged.data = copy;
    place = memory_.place_of(copy, bytes);
  }
  reach(label, *place);
  move(plan, staged);
  meet(label);
  if (staged.data != operation.data)
    std::memcpy(operation.data, staged.data, operation.count * operation.element_bytes());
}

std::byte* Direct::stage(std::size_t bytes) {
  if (stage_.size() < bytes) stage_ = memory_.allocate(std::max(bytes, 2 * stage_.size()));
  return stage_.data();
}

void Direct::move(const Plan& plan, const Operation& operation) {
  const bool reads_and_writes =
      operation.collective == Collective::all_reduce || operation.collective == Collective::reduce;
  transport_.traffic().rounds += reads_and_writes ? 2 : 1;
  switch (operation.collective) {
    case Collective::all_reduce: return all_reduce(operation);
    case Collective::reduce: return reduce(operation);
    case Collective::reduce_scatter: return reduce_scatter(operation, plan.mine);
    default:
      for (const Pull& pull : plan.pulls) this->pull(operation, pull);
  }
}

void Direct::pull(const Operation& operation, const Pull& pull) {
  const std::size_t size = operation.element_bytes();
  const std::byte* source = peers_[static_cast<std::size_t>(pull.from)] + pull.offset * size;
  std::memcpy(operation.data + pull.range.offset * size, source, pull.range.size * size);
  if (pull.from != transport_.rank()) count(1, pull.range.size * size);
}

// Each rank sums one block of everyone's data and stores the sum to everyone's data.
void Direct::all_reduce(const Operation& operation) {
  const Range mine = split_evenly(operation.count, transport_.size(), transport_.rank());
  const std::size_t offset = mine.offset * operation.element_bytes();
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    targets_[i] = peers_[i] + offset;
    sources_[i] = targets_[i];
  }
  fold(fold_of(operation.reduction), operation.dtype, sources_, targets_, mine.size);
  const std::size_t others = peers_.size() - 1;
  if (mine.size > 0) count(2 * others, 2 * others * mine.size * operation.element_bytes());
}

void Direct::reduce(const Operation& operation) {
  const Range mine = split_evenly(operation.count, transport_.size(), transport_.rank());
  const std::size_t offset = mine.offset * operation.element_bytes();
  for (std::size_t i = 0; i < peers_.size(); ++i) sources_[i] = peers_[i] + offset;
  std::byte* const target = peers_[static_cast<std::size_t>(operation.root)] + offset;
  fold(fold_of(operation.reduction), operation.dtype, sources_, {&target, 1}, mine.size);
  const std::size_t others = peers_.size() - 1;
  const std::size_t messages = others + (transport_.rank() == operation.root ? 0 : 1);
  if (mine.size > 0) count(messages, messages * mine.size * operation.element_bytes());
}

void Direct::reduce_scatter(const Operation& operation, Range mine) {
  const std::size_t offset = mine.offset * operation.element_bytes();
  for (std::size_t i = 0; i < peers_.size(); ++i) sources_[i] = peers_[i] + offset;
  std::byte* const target = operation.data + offset;
  fold(fold_of(operation.reduction), operation.dtype, sources_, {&target, 1}, mine.size);
  const std::size_t others = peers_.size() - 1;
  if (mine.size > 0) count(others, others * mine.size * operation.element_bytes());
}

Range Direct::own_lines(std::size_t count, std::size_t element_bytes) const {
  const std::size_t line = kLineBytes / element_bytes;
  const Range lines = split_evenly(count / line, transport_.size(), transport_.rank());
  return {lines.offset * line, lines.size * line};
}

// What the others will read of the result counts as sent, as what they read of a sum does.
void Direct::sum_and_use(const Operation& operation, std::size_t piece, const UseOfSum& use,
                         const Label& label) {
  const std::size_t size = operation.element_bytes(), line = kLineBytes / size;
  const auto place = memory_.place_of(operation.data, operation.count * size);
  HOCKET_CHECK(place.has_value() && operation.count % line == 0,
               "{} elements, which peers must reach in whole lines", operation.count);
  reach(label, *place);
  const Range mine = own_lines(operation.count, size);
  for (std::size_t at = mine.offset; at < mine.end(); at += piece) {
    const Range summed{at, std::min(piece, mine.end() - at)};
    for (std::size_t i = 0; i < peers_.size(); ++i) sources_[i] = peers_[i] + at * size;
    std::byte* const target = operation.data + at * size;
    fold(fold_of(operation.reduction), operation.dtype, sources_, {&target, 1}, summed.size);
    use(summed);
  }
  const std::size_t others = peers_.size() - 1;
  if (mine.size > 0) count(2 * others, 2 * others * mine.size * size);
  transport_.traffic().rounds += 2;
  meet(label);
}

}  // namespace hocket
