#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hocket {

// Bytes that travel with a message, and what keeps them alive; without an owner, they are the sender's own. A
// value type.
struct Payload {
  std::span<const std::byte> bytes{};
  std::shared_ptr<const void> owner{};
  bool is_shared = false;  // In memory that the sender writes to again once the message is acknowledged.

  static Payload copy_of(std::span<const std::byte> bytes) {
    auto owned = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    return {std::span(*owned), owned};
  }

  // Whether the bytes stay as they are whatever the sender does.
  bool is_kept() const { return bytes.empty() || (owner && !is_shared); }
  void keep() {
    if (!is_kept()) *this = copy_of(bytes);
  }

  template <typename T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

}  // namespace hocket
