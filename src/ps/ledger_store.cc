#include "ps/ledger_store.h"

#include <cstring>

#include "base/error.h"
#include "base/rng.h"

namespace hocket {

std::array<std::uint64_t, 2> LedgerStore::gradient(std::uint64_t id) { return {id, mix_bits(id)}; }

bool LedgerStore::fits(const Push& push) const {
  return push.values.bytes.size() == 2 * sizeof(std::uint64_t);
}

void LedgerStore::apply(std::span<const WeightedPush> terms, const Hyper& /*hyper*/) {
  for (const WeightedPush& term : terms) {
    const std::span<const std::uint64_t> gradient = term.push->values.values<std::uint64_t>();
    if (gradient[1] != mix_bits(gradient[0])) ++torn_;
    add(gradient[0]);
  }
}

Payload LedgerStore::read(const Payload& /*ids*/) {
  reading_ = {applied_.size(), hashes_.empty() ? 0 : hashes_.back()};
  return {std::as_bytes(std::span(&reading_, 1)), nullptr};
}

std::vector<std::byte> LedgerStore::save() const {
  const auto bytes = std::as_bytes(std::span(applied_));
  return {bytes.begin(), bytes.end()};
}

void LedgerStore::restore(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(std::uint64_t) != 0) throw NetError("{} bytes are no ledger", bytes.size());
  applied_.clear();
  hashes_.clear();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t id = 0;
    std::memcpy(&id, bytes.data() + at, sizeof(id));
    add(id);
  }
}

bool LedgerStore::had(const Reading& reading) const {
  if (reading.count == 0) return reading.hash == 0;
  return reading.count <= hashes_.size() && hashes_[reading.count - 1] == reading.hash;
}

void LedgerStore::add(std::uint64_t id) {
  applied_.push_back(id);
  hashes_.push_back(mix_bits(id ^ (hashes_.empty() ? 0 : hashes_.back())));
}

}  // namespace hocket
