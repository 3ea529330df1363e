#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace hocket {

// A gradient that has come to a range. `serial` names it until it is in an update or dropped.
struct Arrival {
  std::int64_t serial = 0;
  int slice = 0;
  std::int64_t clock = 0;
  std::int64_t version = 0;  // Of the values it was computed from.
};

// What follows from it: gradients that make up one update, summed with these weights in this order. Weights
// are relative to the mean over the whole batch: 1 for each of its slices is plain gradient descent.
struct Verdict {
  struct Term {
    std::int64_t serial = 0;
    double weight = 1;
  };
  std::vector<Term> update{};
  std::vector<std::int64_t> dropped{};
};

// When a range applies the gradients that come, and when its values may be read: the servers' side of a
// discipline. Decides by what it is told alone, so that replicas that hear the same agree. Used by one
// thread.
class Consistency {
 public:
  virtual ~Consistency() = default;

  virtual Verdict on_push(const Arrival& arrival, std::int64_t version) = 0;
  virtual Verdict on_worker_lost(int /*worker*/, std::int64_t /*version*/) { return {}; }
  virtual void on_worker_joined(int /*worker*/) {}
  // Whether a worker may begin its batch `clock` on values that have seen `version` updates.
  virtual bool may_read(int worker, std::int64_t clock, std::int64_t version) const = 0;

  // Whether every update is one batch; else batches are gradients over workers.
  virtual bool update_is_batch() const { return false; }

  // For a replica that joins later.
  virtual std::vector<std::byte> save() const = 0;
  virtual void restore(std::span<const std::byte> bytes) = 0;
};

using MakeConsistency = std::function<std::unique_ptr<Consistency>()>;

}  // namespace hocket
