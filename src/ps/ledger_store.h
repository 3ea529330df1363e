#pragma once

#include <array>
#include <vector>

#include "ps/store.h"

namespace hocket {

// A store for simulated clusters: it writes down which gradients were applied, in their order. A gradient is
// two numbers, its id and a check of it; what is read is how many were applied and a hash of them all.
class LedgerStore final : public Store {
 public:
  struct Reading {
    std::uint64_t count = 0;
    std::uint64_t hash = 0;

    bool operator==(const Reading&) const = default;
  };
  static std::array<std::uint64_t, 2> gradient(std::uint64_t id);

  bool fits(const Push& push) const override;
  void apply(std::span<const WeightedPush> terms, const Hyper& hyper) override;
  Payload read(const Payload& ids) override;
  Payload state(const Payload& /*ids*/) override { return {}; }
  std::vector<std::byte> save() const override;
  void restore(std::span<const std::byte> bytes) override;

  const std::vector<std::uint64_t>& applied() const { return applied_; }  // Ids.
  bool had(const Reading& reading) const;       // Whether this was read once, or could have been.
  std::uint64_t torn() const { return torn_; }  // Gradients that had changed before they were applied.

 private:
  void add(std::uint64_t id);

  std::vector<std::uint64_t> applied_;
  std::vector<std::uint64_t> hashes_;  // After each.
  Reading reading_;
  std::uint64_t torn_ = 0;
};

}  // namespace hocket
