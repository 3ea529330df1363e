#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "train/named_tensor.h"

struct XXH3_state_s;

namespace hocket {

// A running XXH3-128 of bytes; the digest is 32 hexadecimal digits. It finds damage, not forgery. Used by one
// thread.
class Hasher {
 public:
  Hasher();
  void update(std::span<const std::byte> bytes);
  std::string digest() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string hash_bytes(std::span<const std::byte> bytes);

// The hash of the parameters in canonical order: sorted by name, each as name, dtype, shape and row-major
// bytes. Equal for equal parameters whatever their order here; names must be distinct.
std::string parameter_hash(std::span<const NamedTensor> parameters);

}  // namespace hocket
