#include "ps/known_ids.h"

#include <algorithm>

namespace hocket {

std::optional<std::uint8_t> KnownIds::find(std::span<const std::byte> ids) const {
  const auto at = std::find_if(lists_.begin(), lists_.end(),
                               [&](const Payload& list) { return std::ranges::equal(list.bytes, ids); });
  if (ids.empty() || at == lists_.end()) return std::nullopt;
  return static_cast<std::uint8_t>(at - lists_.begin());
}

const Payload* KnownIds::at(std::uint8_t number) const {
  if (number >= lists_.size() || lists_[number].bytes.empty()) return nullptr;
  return &lists_[number];
}

void KnownIds::add(std::span<const std::byte> ids) {
  lists_[next_] = Payload::copy_of(ids);
  next_ = (next_ + 1) % lists_.size();
}

}  // namespace hocket
