#include "net/authenticate.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "net/job_key.h"
#include "net/socket.h"
#include "net/stream.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::string_view kMagic = "HOCKET\r\n";  // The line end shows a connection that rewrites text.
static_assert(kMagic.size() + sizeof(kProtocolVersion) == kPrefixBytes);

void put_prefix(WireWriter& out) {
  out.put_bytes(std::as_bytes(std::span(kMagic)));
  out.put(kProtocolVersion);
}

bool is_purpose(std::uint8_t value) {
  return value >= static_cast<std::uint8_t>(Purpose::control) &&
         value <= static_cast<std::uint8_t>(Purpose::node);
}

}  // namespace

std::array<std::byte, kHelloBytes> encode(const Hello& hello) {
  WireWriter out;
  put_prefix(out);
  out.put(hello.job);
  out.put(static_cast<std::uint8_t>(hello.purpose));
  out.put(static_cast<std::uint8_t>(hello.is_encrypted ? 1 : 0));
  out.put(hello.channel);
  out.put(hello.stream);
  out.put(hello.streams);
  out.put(static_cast<std::int32_t>(hello.rank));
  out.put_bytes(hello.nonce);
  std::array<std::byte, kHelloBytes> bytes;
  HOCKET_CHECK(out.bytes().size() == bytes.size());
  std::copy(out.bytes().begin(), out.bytes().end(), bytes.begin());
  return bytes;
}

void check_prefix(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  const auto magic = in.get_bytes(kMagic.size());
  const auto version = in.get<std::uint32_t>();
  if (!in.is_good() || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Refused("it does not speak hocket's protocol");
  }
  if (version != kProtocolVersion) {
    throw Refused(
        fmt::format("it speaks version {} of the protocol, this is version {}", version, kProtocolVersion));
  }
}

Hello parse_hello(std::span<const std::byte> bytes) {
  check_prefix(bytes);
  WireReader in(bytes.subspan(kPrefixBytes));
  Hello hello;
  hello.job = in.get<std::uint64_t>();
  const auto purpose = in.get<std::uint8_t>();
  const auto encrypted = in.get<std::uint8_t>();
  hello.channel = in.get<std::uint32_t>();
  hello.stream = in.get<std::uint16_t>();
  hello.streams = in.get<std::uint16_t>();
  hello.rank = in.get<std::int32_t>();
  const auto nonce = in.get_bytes(hello.nonce.size());
  if (!in.is_good() || !in.is_at_end()) throw Refused("its hello has the wrong length");
  if (!is_purpose(purpose) || encrypted > 1 || hello.stream >= hello.streams || hello.rank < -1) {
    throw Refused("its hello makes no sense");
  }
  hello.purpose = static_cast<Purpose>(purpose);
  hello.is_encrypted = encrypted == 1;
  std::copy(nonce.begin(), nonce.end(), hello.nonce.begin());
  return hello;
}

Handshake::Handshake(const JobKey& key, Hello mine, bool is_connecting)
    : key_(derived_key(key, "hocket authentication")), mine_(mine), is_connecting_(is_connecting) {
  mine_.job = job_id(key);
  fill_random(mine_.nonce);
  if (is_connecting_) say(encode(mine_));
}

Handshake Handshake::connecting(const JobKey& key, Hello mine) { return {key, mine, true}; }

Handshake Handshake::accepting(const JobKey& key, Rank rank) {
  Hello mine;
  mine.rank = rank;
  return {key, mine, false};
}

void Handshake::take(std::span<const std::byte> bytes) {
  HOCKET_CHECK(bytes.size() <= wanted());
  received_.insert(received_.end(), bytes.begin(), bytes.end());
  if (wanted() > 0) return;
  switch (stage_) {
    case Stage::prefix: return take_prefix();
    case Stage::hello: return is_connecting_ ? take_reply() : take_hello();
    case Stage::proof: return take_proof();
  }
}

void Handshake::take_prefix() {
  try {
    check_prefix(received_);
  } catch (const Refused&) {
    // An end of another version learns which version this is.
    const auto hello = encode(mine_);
    if (!is_connecting_) say(std::span(hello).first(kPrefixBytes));
    throw;
  }
  stage_ = Stage::hello;
  target_ = kHelloBytes + (is_connecting_ ? kKeyBytes : 0);
}

void Handshake::accept_peer(const Hello& peer) {
  if (peer.job != mine_.job) {
    throw Refused(fmt::format("it belongs to job {:016x}, this is job {:016x}", peer.job, mine_.job));
  }
  peer_ = peer;
}

void Handshake::take_hello() {
  accept_peer(parse_hello(received_));
  mine_.purpose = peer_.purpose;
  mine_.is_encrypted = peer_.is_encrypted;
  say(encode(mine_));
  say(proof(false));
  stage_ = Stage::proof;
  received_.clear();
  target_ = kKeyBytes;
}

void Handshake::take_reply() {
  const std::span<const std::byte> all = received_;
  accept_peer(parse_hello(all.first(kHelloBytes)));
  check_proof(all.subspan(kHelloBytes), false);
  say(proof(true));
  is_proven_ = true;
}

void Handshake::take_proof() {
  check_proof(received_, true);
  is_proven_ = true;
}

JobKey Handshake::proof(bool of_connecting) const {
  const std::string_view role = of_connecting ? "connect" : "accept";
  const auto connecting = encode(is_connecting_ ? mine_ : peer_);
  const auto accepting = encode(is_connecting_ ? peer_ : mine_);
  return keyed_hash(key_, {std::as_bytes(std::span(role)), connecting, accepting});
}

void Handshake::check_proof(std::span<const std::byte> found, bool of_connecting) const {
  const JobKey expected = proof(of_connecting);
  if (CRYPTO_memcmp(found.data(), expected.data(), expected.size()) != 0) {
    throw Refused("it does not know the job key");
  }
}

bool advance(Handshake& handshake, int socket) {
  while (true) {
    while (!handshake.outgoing().empty()) {
      const std::size_t moved = send_some(socket, handshake.outgoing());
      if (moved == 0) return false;
      handshake.sent(moved);
    }
    if (handshake.is_done()) return true;
    std::array<std::byte, kHelloBytes + kKeyBytes> buffer;
    const std::size_t moved = receive_some(socket, std::span(buffer).first(handshake.wanted()));
    if (moved == 0) return false;
    handshake.take(std::span(buffer).first(moved));
  }
}

void complete(Handshake& handshake, int socket, TimePoint deadline) {
  while (!advance(handshake, socket)) {
    const short events = handshake.outgoing().empty() ? POLLIN : POLLIN | POLLOUT;
    if (!wait_for(socket, events, deadline)) throw NetError("the other end does not answer the handshake");
  }
}

}  // namespace hocket
