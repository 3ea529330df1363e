#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "net/clock.h"
#include "net/job.h"
#include "net/rank.h"

namespace hocket {

inline constexpr std::uint32_t kProtocolVersion = 1;

// The other end does not belong to this job, or does not speak this protocol; what() says which.
class Refused final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Purpose : std::uint8_t { control = 1, data = 2, local = 3, agent = 4, node = 5 };

// What each end of a connection says first. It has a fixed size on the wire: no length is ever believed.
struct Hello {
  using Nonce = std::array<std::byte, 32>;

  std::uint64_t job = 0;
  Purpose purpose = Purpose::control;
  bool is_encrypted = false;  // TLS follows the handshake.
  std::uint32_t channel = 0;  // For data and nodes; the next two are for data alone.
  std::uint16_t stream = 0;   // This is stream `stream`
  std::uint16_t streams = 1;  // of `streams` on this channel.
  Rank rank = -1;             // The sender's; -1 when it is no rank.
  Nonce nonce = {};

  bool operator==(const Hello&) const = default;
};

inline constexpr std::size_t kPrefixBytes = 12;  // Magic and version.
inline constexpr std::size_t kHelloBytes = kPrefixBytes + 8 + 1 + 1 + 4 + 2 + 2 + 4 + 32;

std::array<std::byte, kHelloBytes> encode(const Hello& hello);
// Checks magic and version of at least kPrefixBytes. Throws Refused.
void check_prefix(std::span<const std::byte> bytes);
// Throws Refused unless `bytes` are a hello of this version.
Hello parse_hello(std::span<const std::byte> bytes);

// The mutual challenge that opens every connection, as a state machine without a socket:
//
//   connecting: hello            ->
//               <- hello, MAC(key, "accept", both hellos)      accepting
//               MAC(key, "connect", both hellos) ->
//
// Both nonces are random and both MACs cover everything said, so nothing can be replayed, reflected or
// altered. Feed it what arrives, at most wanted() bytes at a time; send what outgoing() holds. Used by one
// thread. take() throws Refused; what outgoing() then holds may still be sent before closing.
class Handshake {
 public:
  static Handshake connecting(const JobKey& key, Hello mine);  // `job` and `nonce` are filled in.
  static Handshake accepting(const JobKey& key, Rank rank);

  std::size_t wanted() const { return target_ - received_.size(); }
  void take(std::span<const std::byte> bytes);

  std::span<const std::byte> outgoing() const { return outgoing_; }
  void sent(std::size_t bytes) {
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }

  bool is_done() const { return is_proven_ && outgoing_.empty(); }
  const Hello& peer() const { return peer_; }  // Trustworthy only when is_done().

 private:
  Handshake(const JobKey& key, Hello mine, bool is_connecting);
  void take_prefix();
  void take_hello();
  void take_reply();
  void take_proof();
  void say(std::span<const std::byte> bytes) {
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
  }
  JobKey proof(bool of_connecting) const;
  void check_proof(std::span<const std::byte> found, bool of_connecting) const;
  void accept_peer(const Hello& peer);

  enum class Stage { prefix, hello, proof };

  JobKey key_;
  Hello mine_;
  Hello peer_;
  bool is_connecting_;
  bool is_proven_ = false;
  Stage stage_ = Stage::prefix;
  std::size_t target_ = kPrefixBytes;
  std::vector<std::byte> received_;
  std::vector<std::byte> outgoing_;
};

// Moves what a nonblocking socket can move now; whether the handshake is done. Throws Refused and
// StreamClosed.
bool advance(Handshake& handshake, int socket);

// The whole handshake on a nonblocking socket. Throws Refused, StreamClosed, and NetError at the deadline.
void complete(Handshake& handshake, int socket, TimePoint deadline);

}  // namespace hocket
