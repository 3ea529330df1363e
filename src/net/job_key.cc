#include "net/job_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/error.h"

namespace hocket {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void fill_random(std::span<std::byte> bytes) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1) {
    throw Error("the system gives no random bytes");
  }
}

JobKey random_key() {
  JobKey key;
  fill_random(key);
  return key;
}

JobKey keyed_hash(const JobKey& key, std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> message;
  for (const auto part : parts) message.insert(message.end(), part.begin(), part.end());
  JobKey hash;
  unsigned int length = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                          reinterpret_cast<unsigned char*>(hash.data()), &length);
  HOCKET_CHECK(done != nullptr && length == hash.size(), "HMAC-SHA256 failed");
  return hash;
}

JobKey derived_key(const JobKey& key, std::string_view use) {
  return keyed_hash(key, {std::as_bytes(std::span(use))});
}

std::uint64_t job_id(const JobKey& key) {
  const JobKey hash = derived_key(key, "hocket job id");
  std::uint64_t id = 0;
  std::memcpy(&id, hash.data(), sizeof(id));
  return id;
}

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

std::optional<JobKey> key_from_hex(std::string_view text) {
  JobKey key;
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i] = static_cast<std::byte>(16 * high + low);
  }
  return key;
}

JobKey key_from_descriptor(int fd) {
  JobKey key;
  const auto got = ::pread(fd, key.data(), key.size(), 0);
  if (got == static_cast<ssize_t>(key.size())) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // Programs that this one starts have no use for it.
    return key;
  }
  throw ConfigError(
      "the job key is not in file descriptor {} ({}): a program between the launcher and this one closed it",
      fd, got < 0 ? std::strerror(errno) : "too short");
}

int descriptor_with_key(const JobKey& key) {
  const int fd = ::memfd_create("hocket-key", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, key.data(), key.size()) != static_cast<ssize_t>(key.size())) {
    throw Error("cannot keep the job key in memory: {}", std::strerror(errno));
  }
  return fd;
}

}  // namespace hocket
