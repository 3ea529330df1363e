#pragma once

#include <memory>
#include <span>
#include <vector>

#include "nn/optimizer.h"
#include "ps/message.h"

namespace hocket {

// A gradient with its weight in a sum.
struct WeightedPush {
  const Push* push = nullptr;
  double weight = 1;
};

// The values of a range and the state of their optimizer. Equal calls in equal order leave equal bytes. Used
// by one thread.
class Store {
 public:
  virtual ~Store() = default;

  // Whether a gradient has the size (and ids) that this store needs; nothing else is ever given to apply().
  virtual bool fits(const Push& push) const = 0;
  // One update with the weighted sum, added up in this order.
  virtual void apply(std::span<const WeightedPush> terms, const Hyper& hyper) = 0;
  // The values, dense or of the rows named, in the order of the ids; valid until the next call of the same
  // function or of apply().
  virtual Payload read(const Payload& ids) = 0;
  virtual Payload state(const Payload& ids) = 0;  // Of a table without ids: what save() gives.

  // Everything, for a replica that joins; restore() throws NetError for bytes that no save() has made.
  virtual std::vector<std::byte> save() const = 0;
  virtual void restore(std::span<const std::byte> bytes) = 0;
};

// Throws NetError where values or state do not fit the spec: both came from a wire.
std::unique_ptr<Store> make_store(const Init& init);

}  // namespace hocket
