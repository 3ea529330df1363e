#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/job.h"

namespace hocket {

JobKey random_key();
void fill_random(std::span<std::byte> bytes);  // Throws Error when the system has no randomness.

// HMAC-SHA256 of `parts`, one after the other.
JobKey keyed_hash(const JobKey& key, std::initializer_list<std::span<const std::byte>> parts);

// A key for one use alone, so that what one protocol shows tells nothing to another.
JobKey derived_key(const JobKey& key, std::string_view use);

// The number that names the job on the wire and in messages; it does not give the key away.
std::uint64_t job_id(const JobKey& key);

std::string to_hex(std::span<const std::byte> bytes);
std::optional<JobKey> key_from_hex(std::string_view text);  // 64 hexadecimal digits.

// The key from a descriptor that the launcher passed on. Throws ConfigError when it holds no key.
JobKey key_from_descriptor(int fd);
// A descriptor that key_from_descriptor() reads, closed on exec.
int descriptor_with_key(const JobKey& key);

}  // namespace hocket
