#include "base/unique_ids.h"

#include <algorithm>

#include "base/rng.h"

namespace hocket {

void UniqueIds::clear() {
  ids_.clear();
  if (++round_ != 0) return;
  std::fill(slots_.begin(), slots_.end(), Slot{});  // The rounds have all been used once.
  round_ = 1;
}

UniqueIds::Slot& UniqueIds::slot_of(std::uint64_t id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mix_bits(id) & mask;
  while (slots_[at].round == round_ && slots_[at].id != id) at = (at + 1) & mask;
  return slots_[at];
}

std::uint32_t UniqueIds::add(std::uint64_t id) {
  Slot& slot = slot_of(id);
  if (slot.round == round_) return slot.number;
  const auto number = static_cast<std::uint32_t>(ids_.size());
  slot = {id, number, round_};
  ids_.push_back(id);
  if (ids_.size() * 2 > slots_.size()) grow();
  return number;
}

void UniqueIds::grow() {
  slots_.assign(slots_.size() * 2, Slot{});
  for (std::size_t i = 0; i < ids_.size(); ++i)
    slot_of(ids_[i]) = {ids_[i], static_cast<std::uint32_t>(i), round_};
}

}  // namespace hocket
