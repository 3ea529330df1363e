#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

// The hash of parameters in canonical order: sorted by name, each as name, dtype, shape and row-major bytes.
// They are given one by one in that order, with distinct names. Used by one thread.
class ParameterHasher {
 public:
  void update(std::string_view name, const Tensor& tensor);
  std::string digest() const { return hasher_.digest(); }

 private:
  Hasher hasher_;
};

// The same of parameters in any order.
std::string parameter_hash(std::span<const NamedTensor> parameters);

}  // namespace hocket
