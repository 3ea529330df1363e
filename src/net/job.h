#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "net/health.h"
#include "net/rank.h"

namespace hocket {

inline constexpr std::size_t kKeyBytes = 32;
using JobKey = std::array<std::byte, kKeyBytes>;  // The secret of a job, random for each launch.

// Where a rank runs and listens.
struct Member {
  std::string host;        // Name, for messages.
  std::string address;     // Numeric, as the route to the coordinator chose it.
  std::uint16_t port = 0;  // Of its authenticated TCP listener.
  std::string host_id;     // Equal for ranks that share a network namespace (and kernel).
  std::int32_t pid = 0;
};

// The job as one of its ranks sees it after the meeting. Immutable but for `health`.
struct Job {
  std::uint64_t id = 0;
  JobKey key = {};
  Rank rank = 0;
  std::vector<Member> members = {};  // By rank.
  bool plaintext = false;            // Between hosts: authentication without encryption.

  int size() const { return static_cast<int>(members.size()); }
};

}  // namespace hocket
