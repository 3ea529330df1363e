// The home of an id is its hash scaled to the table, so that homes have the same order in the old table and
// in the new: the old one is emptied and the new one filled from the front, and pages behind the front of one
// are given back while those of the other are touched for the first time. An id whose old home is before the
// front is in the new table, or in the run of displaced slots that begins at the front of the old.
#include "ps/id_index.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"

namespace hocket {
namespace {

constexpr std::size_t kFewest = 64;
constexpr std::size_t kTail = 4096;
constexpr std::size_t kSlotBytes = sizeof(std::uint8_t) + sizeof(std::uint32_t);
constexpr std::size_t kReleaseSlots = std::size_t{1} << 16;

constexpr std::size_t limit_of(std::size_t homes) { return homes / 4 * 3; }
constexpr std::size_t grown(std::size_t homes) { return homes + homes / 2; }
constexpr std::size_t slots_of(std::size_t homes) { return homes + std::min(homes, kTail); }

// Independent of the hash that chooses the range of an id.
std::uint64_t hash_of(std::uint64_t id) { return mix_bits(id ^ 0xd6e8feb86659fd93ULL); }
std::uint8_t tag_of(std::uint64_t hash) { return static_cast<std::uint8_t>(hash % 255 + 1); }

// What both tables have when `moved` slots of the old one are in the new.
std::size_t bytes_between(std::size_t old_slots, std::size_t new_slots, std::size_t moved) {
  const double part = static_cast<double>(std::min(moved, old_slots)) / static_cast<double>(old_slots);
  return static_cast<std::size_t>(
      static_cast<double>(kSlotBytes) *
      (static_cast<double>(old_slots) * (1 - part) + static_cast<double>(new_slots) * part));
}

// Gives back the pages that lie wholly in these bytes, of a mapping.
void release_pages(std::byte* memory, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t skipped =
      align_up(reinterpret_cast<std::uintptr_t>(memory), page) - reinterpret_cast<std::uintptr_t>(memory);
  if (bytes >= skipped + page) ::madvise(memory + skipped, (bytes - skipped) / page * page, MADV_DONTNEED);
}

}  // namespace

IdIndex::Slots::Slots(std::size_t homes_)
    : homes(homes_), size_(slots_of(homes_)), tags(size_), rows(size_ * sizeof(std::uint32_t)) {}

std::size_t IdIndex::Slots::home(std::uint64_t hash) const {
  return static_cast<std::size_t>((static_cast<unsigned __int128>(hash) * homes) >> 64);
}

IdIndex::IdIndex(const RowChunks& rows) : rows_(rows), now_(kFewest) {}

std::uint32_t IdIndex::find(std::uint64_t id) const {
  const std::uint64_t hash = hash_of(id);
  const std::uint8_t tag = tag_of(hash);
  if (old_.size() == 0) return find_in(now_, now_.home(hash), tag, id);
  const std::size_t old_home = old_.home(hash);
  if (old_home >= moved_) return find_in(old_, old_home, tag, id);
  const std::uint32_t row = find_in(now_, now_.home(hash), tag, id);
  return row != kNoRow ? row : find_in(old_, moved_, tag, id);
}

std::uint32_t IdIndex::find_in(const Slots& slots, std::size_t from, std::uint8_t tag,
                               std::uint64_t id) const {
  const auto* tags = reinterpret_cast<const std::uint8_t*>(slots.tags.data());
  const auto* rows = reinterpret_cast<const std::uint32_t*>(slots.rows.data());
  for (std::size_t at = from; at < slots.size() && tags[at] != 0; ++at) {
    if (tags[at] == tag && rows_.id(rows[at]) == id) return rows[at];
  }
  return kNoRow;
}

void IdIndex::put(const Slots& slots, std::uint64_t hash, std::uint32_t row) {
  auto* tags = reinterpret_cast<std::uint8_t*>(slots.tags.data());
  std::size_t at = slots.home(hash);
  while (at < slots.size() && tags[at] != 0) ++at;
  if (at == slots.size()) throw Error("{} ids of a table have nearly the same hash", at - slots.home(hash));
  tags[at] = tag_of(hash);
  slots.rows.at<std::uint32_t>(at * sizeof(std::uint32_t), 1)[0] = row;
}

void IdIndex::insert(std::uint64_t id, std::uint32_t row) {
  const std::uint64_t hash = hash_of(id);
  if (old_.size() == 0 && count_ >= limit_of(now_.homes)) grow();
  if (old_.size() > 0) move_some();
  put(slots_for(hash), hash, row);
  ++count_;
}

const IdIndex::Slots& IdIndex::slots_for(std::uint64_t hash) const {
  return old_.size() > 0 && old_.home(hash) >= moved_ ? old_ : now_;
}

void IdIndex::prefetch(std::uint64_t id) const {
  const std::uint64_t hash = hash_of(id);
  const Slots& slots = slots_for(hash);
  const std::size_t home = slots.home(hash);
  __builtin_prefetch(slots.tags.data() + home);
  __builtin_prefetch(slots.rows.data() + home * sizeof(std::uint32_t));
}

void IdIndex::prefetch_row(std::uint64_t id) const {
  const std::uint64_t hash = hash_of(id);
  const Slots& slots = slots_for(hash);
  const auto* tags = reinterpret_cast<const std::uint8_t*>(slots.tags.data());
  const auto* rows = reinterpret_cast<const std::uint32_t*>(slots.rows.data());
  std::size_t at = slots.home(hash);
  while (at < slots.size() && tags[at] != 0 && tags[at] != tag_of(hash)) ++at;
  if (at < slots.size() && tags[at] != 0) __builtin_prefetch(rows_.record(rows[at]));
}

void IdIndex::grow() {
  Slots larger(grown(now_.homes));
  old_ = std::move(now_);
  now_ = std::move(larger);
  moved_ = 0;
}

void IdIndex::move_some() {
  const auto* tags = reinterpret_cast<const std::uint8_t*>(old_.tags.data());
  const auto* rows = reinterpret_cast<const std::uint32_t*>(old_.rows.data());
  const std::size_t end = std::min(moved_ + kMovedSlots, old_.size());
  most_moved_ = std::max(most_moved_, end - moved_);
  for (; moved_ < end; ++moved_) {
    if (tags[moved_] != 0) put(now_, hash_of(rows_.id(rows[moved_])), rows[moved_]);
  }
  for (std::size_t at = end; at < std::min(end + kMovedSlots, old_.size()); ++at) {
    if (tags[at] != 0) __builtin_prefetch(rows_.record(rows[at]));  // Those that are moved next.
  }
  if (moved_ == old_.size()) {
    old_ = Slots();
  } else if (moved_ % kReleaseSlots == 0) {
    const std::size_t from = moved_ - kReleaseSlots;
    release_pages(old_.tags.data() + from, kReleaseSlots);
    release_pages(old_.rows.data() + from * sizeof(std::uint32_t), kReleaseSlots * sizeof(std::uint32_t));
  }
}

std::size_t IdIndex::bytes() const {
  return old_.size() == 0 ? now_.size() * kSlotBytes : bytes_between(old_.size(), now_.size(), moved_);
}

std::size_t IdIndex::bytes_for(std::size_t rows) {
  std::size_t homes = kFewest;
  while (rows > limit_of(grown(homes))) homes = grown(homes);
  if (rows <= limit_of(homes)) return slots_of(homes) * kSlotBytes;
  return bytes_between(slots_of(homes), slots_of(grown(homes)), (rows - limit_of(homes)) * kMovedSlots);
}

}  // namespace hocket
